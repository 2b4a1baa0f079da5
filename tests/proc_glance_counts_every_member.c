/*
 * What a query is shown of a tenant is the sum of what its slots hold, wherever they lie: in whole
 * runs of 64, in parts of them, beside those of another tenant and beside free ones whose bit in
 * the map has stayed.
 */
#include "proc_helper.h"
#include "ledger/glance.h"

#define SLOTS 300u

static uint64_t random_state = 88172645463325252ull;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

/* Of a hundred slots so many are the tenant's, have its bit, and are in use. */
static void round_of(const struct segment *segment, uint32_t own, uint32_t bits, uint32_t used)
{
	uint64_t *const map = segment_map(segment, 0);
	uint64_t want = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct cuquota_slot *const slot = segment_slot(segment, i);
		const bool is_own = draw(100) < own, has_bit = is_own || draw(100) < bits;

		slot->state = draw(100) < used ? CUQUOTA_USED : CUQUOTA_FREE;
		slot->tenant = is_own ? 0 : 1;
		slot->word = CUQUOTA_WORD(1 + draw(1000), draw(1000), draw(256));
		slot->held = slot->state == CUQUOTA_USED
				     ? CUQUOTA_HELD(slot->tenant,
						    draw(4) ? 1 + draw(1000) : draw(UINT32_MAX))
				     : 0;
		map[i / 64] = (map[i / 64] & ~(1ull << (i % 64))) | (uint64_t)has_bit << (i % 64);
		if (is_own && slot->state == CUQUOTA_USED &&
		    (uint32_t)slot->held <= CUQUOTA_COUNT_MAX)
			want += (uint32_t)slot->held;
	}
	CHECK_EQ(glance_held(segment, 0), want);
}

int main(int argc, char **argv)
{
	struct segment segment = {0};
	char why[SEGMENT_WHY];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 30);
	worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(segment_open(&segment, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER,
			      why),
		 0);
	segment.header->members_high = SLOTS;
	for (int i = 0; i < 50; i++) {
		round_of(&segment, 100, 100, 100);
		round_of(&segment, 100, 100, 90);
		round_of(&segment, 90, 100, 90);
		round_of(&segment, 30, 50, 50);
		round_of(&segment, 3, 0, 100);
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		segment_slot(&segment, i)->state = CUQUOTA_FREE;
	world_end();
	return 0;
}
