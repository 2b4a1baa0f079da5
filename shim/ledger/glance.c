/*
 * See glance.h.
 */
#include "ledger/glance.h"

#define SWEPT_NS 40000000u /* the coarse clock is late by a tick, which is 10 ms at most */

uint64_t glance_charged(const struct segment *segment, uint32_t tenant)
{
	uint64_t charged = 0;

	for (struct segment_walk walk = segment_walk(segment, tenant); segment_step(&walk);) {
		const struct cuquota_slot *const slot = walk.slot;
		const uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_RELAXED);

		/* A slot that changes hands meanwhile was free or another's a moment ago: either
		 * answer is right. */
		if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == CUQUOTA_USED &&
		    __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED) == tenant)
			charged += CUQUOTA_CHARGED(word);
	}
	return charged;
}

bool glance_swept(const struct segment *segment)
{
	const uint64_t swept = __atomic_load_n(&segment->header->swept_ns, __ATOMIC_RELAXED);
	const uint64_t ns = segment_coarse_ns();

	/* Its time may lie behind the coarse clock by that tick, but not more: that is of another
	 * boot. */
	return ns + (50000000u - SWEPT_NS) >= swept && (ns < swept || ns - swept < SWEPT_NS);
}
