/*
 * Where a query is told that the limit alone says what is free, the sum over all slots says the
 * same, whatever was charged, given back or promised since all slots were read.
 */
#include "proc_helper.h"
#include "ledger/glance.h"

#define SLOTS 40u
#define TENANTS 4u
#define DEVICE (4096 * MIB)

static struct segment segment;
static struct member self; /* of the first tenant */
static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	return next_random(&random_state) % below;
}

static void scatter(void)
{
	segment.header->members_high = SLOTS;
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct cuquota_slot *const slot = segment_slot(&segment, i);

		memset(segment_map(&segment, i % TENANTS), 0xff, SLOTS / 8);
		slot->state = draw(4) ? CUQUOTA_USED : CUQUOTA_FREE;
		slot->tenant = draw(TENANTS);
		slot->word = CUQUOTA_WORD(draw(100 * MIB), draw(10 * MIB), 0);
	}
	for (uint32_t i = 0; i < TENANTS; i++)
		segment_tenant(&segment, i)->request = draw(2) ? BYTES(draw(1000 * MIB)) : 0;
}

/* What members do: credit is had, charged, given back. */
static void move(void)
{
	struct cuquota_slot *const slot = segment_slot(&segment, draw(SLOTS));
	const uint32_t charged = CUQUOTA_CHARGED(slot->word), credit = CUQUOTA_CREDIT(slot->word);
	const uint32_t units = draw(300 * MIB);

	switch (draw(4)) {
	case 0:
		bound_rise(&segment, slot->tenant, units);
		slot->word = CUQUOTA_WORD(charged, credit + units, 0);
		break;
	case 1:
		slot->word = CUQUOTA_WORD(charged + credit, 0, 0);
		break;
	default:
		slot->word = CUQUOTA_WORD(charged / 2, credit, 0);
	}
}

static void look(unsigned seen[2])
{
	struct cuquota_tenant *const record = segment_tenant(&segment, 0);
	struct account_use use;
	bool alone;

	record->limit = draw(8) ? BYTES(1 + draw(DEVICE)) : CUQUOTA_NONE;
	alone = glance_beside(&self, record->limit);
	seen[alone]++;
	CHECK_EQ(account_use(&segment, 0, &use), 0);
	if (alone)
		CHECK_EQ(use.free, use.limit > use.charged ? use.limit - use.charged : 0);
}

int main(int argc, char **argv)
{
	unsigned seen[2] = {0, 0};
	char why[SEGMENT_WHY];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(DEVICE), 30);
	for (unsigned i = 0; i < TENANTS; i++)
		worker_joined((const char *[]){"a", "b", "c", "d"}[i], BYTES(GIB), BYTES(MIB));
	CHECK_EQ(segment_open(&segment, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER,
			      why),
		 0);
	self.segment = &segment;
	CHECK(!glance_beside(&self, CUQUOTA_NONE));
	for (int i = 0; i < 3000; i++) {
		struct account_use use;

		scatter();
		CHECK_EQ(account_use_own(&self, &use), 0);
		for (int k = 0; k < 8; k++) {
			look(seen);
			move();
		}
	}
	printf("%u times the limit alone, %u times not\n", seen[1], seen[0]);
	CHECK_OP(seen[1], >, 1000u);
	CHECK_OP(seen[0], >, 1000u);
	for (uint32_t i = 0; i < SLOTS; i++)
		segment_slot(&segment, i)->state = CUQUOTA_FREE;
	world_end();
	return 0;
}
