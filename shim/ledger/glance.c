/*
 * See glance.h.
 */
#include "ledger/glance.h"

#define SWEPT_NS 40000000u /* the coarse clock is late by a tick, which is 10 ms at most */

uint64_t glance_held(const struct segment *segment, uint32_t tenant)
{
	struct segment_walk walk = segment_walk(segment, tenant);
	uint64_t held = 0;

	while (segment_step_far(&walk)) {
		const char *slot = walk.first;

		/* Members that joined one after another lie side by side. */
		if (walk.bits == ~0ull) {
			for (uint32_t i = 0; i < 64; i++, slot += walk.stride)
				held += glance_held_in((const struct cuquota_slot *)slot, tenant);
			continue;
		}
		while (walk.bits) {
			segment_step_near(&walk);
			held += glance_held_in(walk.slot, tenant);
		}
	}
	return held;
}

bool glance_beside(const struct member *member, uint64_t limit)
{
	const struct segment *const segment = member->segment;
	const uint64_t device = segment->header->device_bytes;
	uint64_t others;

	return limit <= __atomic_load_n(&segment_tenant(segment, member->tenant)->request,
					__ATOMIC_RELAXED) ||
	       (limit <= device && bound_others(&member->bound, segment, member->tenant, &others) &&
		others <= device - limit);
}

bool glance_swept(const struct segment *segment)
{
	const uint64_t swept = __atomic_load_n(&segment->header->swept_ns, __ATOMIC_RELAXED);
	const uint64_t ns = segment_coarse_ns();

	/* Its time may lie behind the coarse clock by that tick, but not more: that is of another
	 * boot. */
	return ns + (50000000u - SWEPT_NS) >= swept && (ns < swept || ns - swept < SWEPT_NS);
}
