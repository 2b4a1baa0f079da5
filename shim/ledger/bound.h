/*
 * What the other tenants can have at most, from what this process saw of them last. Owns: that
 * memory, in the member's handle, and the counter in each tenant's record that makes it usable.
 * Promise: a bound is never below what is held and announced; where it cannot be had, that is said,
 * and all slots are summed instead. Never waits.
 *
 * Whatever a tenant's use rises by is added to its `risen` (ledger.h): what was seen, and what was
 * added meanwhile, bounds what there is. A bound may grant; it never refuses.
 */
#ifndef CUQUOTA_BOUND_H
#define CUQUOTA_BOUND_H

#include "ledger/segment.h"

#define BOUND_TENANTS CUQUOTA_TENANTS /* of a larger table in use nothing is noted */

/*
 * One for each handle, zeroed by a fork with it. Any thread may refresh it and any may read it:
 * `version` is odd while it is written, and 0 before it ever was. Whoever never comes to the end of
 * writing costs the process its bounds, nothing else.
 */
struct bound {
	uint32_t version;
	uint32_t tenants;	     /* those that were seen */
	uint32_t use[BOUND_TENANTS]; /* units held and announced */
	uint64_t risen[BOUND_TENANTS];
};

/* A refresh: begin before the first slot is read, then end with what was found. */
struct bound_refresh {
	struct bound *bound; /* NULL: none is under way */
	uint32_t tenants;
};

struct bound_refresh bound_begin(struct bound *bound, const struct segment *segment);
/* Entry by entry; those at or above the refresh's `tenants` are left out. */
static inline void bound_note(const struct bound_refresh *refresh, uint32_t tenant, uint64_t units)
{
	__atomic_store_n(&refresh->bound->use[tenant],
			 units < UINT32_MAX ? (uint32_t)units : UINT32_MAX, __ATOMIC_RELAXED);
}
void bound_end(const struct bound_refresh *refresh);

/* The most that sum_others could find, in bytes; false where nothing is known. */
bool bound_others(const struct bound *bound, const struct segment *segment, uint32_t tenant,
		  uint64_t *bytes);

/*
 * A slot of `tenant` is to have `units` more, which were announced, or it has them by force.
 *
 * Not needed while nobody has a request. A bound is refreshed by those only who have seen that
 * somebody has: who did not see it announced before that, so that each refresh finds what it
 * announced.
 */
static inline void bound_rise(const struct segment *segment, uint32_t tenant, uint32_t units)
{
	__atomic_fetch_add(&segment_tenant(segment, tenant)->risen, units, __ATOMIC_SEQ_CST);
}

#endif
