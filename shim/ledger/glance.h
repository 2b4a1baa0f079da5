/*
 * Figures that programs ask for often, at a glance. Owns: what a tenant holds, whether its
 * limit alone says what is free, and whether the dead are forgotten lately, each by as little as
 * will do. Promise: between two calls of its members the same as account_use and member_sweep_now
 * would say. Writes nothing, never waits, makes no system call.
 */
#ifndef CUQUOTA_GLANCE_H
#define CUQUOTA_GLANCE_H

#include "ledger/member.h"

/* Units that a slot holds for `tenant`. One that changes hands meanwhile was free or another's a
 * moment ago: either answer is right. */
static inline uint64_t glance_held_in(const struct cuquota_slot *slot, uint32_t tenant)
{
	const uint64_t held = __atomic_load_n(&slot->held, __ATOMIC_RELAXED);

	return held >> 32 == CUQUOTA_HELD(tenant, 0) >> 32 && (uint32_t)held <= CUQUOTA_COUNT_MAX
		       ? (uint32_t)held
		       : 0;
}
/* Units that the members of `tenant` hold, ghosts included. */
uint64_t glance_held(const struct segment *segment, uint32_t tenant);
/* Does what others hold and are promised leave a tenant all of `limit` bytes for certain? Then its
 * limit alone says what is free. */
bool glance_beside(const struct member *member, uint64_t limit);
/* Certainly no sweep is due: the last one began less than 50 ms ago. */
bool glance_swept(const struct segment *segment);

#endif
