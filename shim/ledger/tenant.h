/*
 * Tenants of one device. Owns: finding and making records, and the rule who sets a limit. Promise:
 * a record is made, changed and reused under the settle byte only; a tightened rule binds every
 * allocation that begins after the call.
 */
#ifndef CUQUOTA_TENANT_H
#define CUQUOTA_TENANT_H

#include "ledger/segment.h"

/* The sum, or the most there can be: a scribbled request must not wrap to a small one. */
static inline uint64_t tenant_add(uint64_t sum, uint64_t bytes)
{
	return sum + bytes < sum ? UINT64_MAX : sum + bytes;
}

/* What a process brings. */
struct tenant_wish {
	const char *name;
	uint64_t limit;	  /* bytes, CUQUOTA_NONE without */
	uint64_t request; /* bytes, 0 without */
	uint64_t keep_ns;
};

/* What came of it, for the message about a conflict. */
struct tenant_outcome {
	uint64_t limit, request; /* in force now */
	bool conflict;		 /* they differ from what was brought */
	uint64_t previous;	 /* the limit before, CUQUOTA_NONE without */
	bool lowered;		 /* to that: below what held while it had members */
	bool administered;	 /* because `cuquota set` holds */
	uint64_t promised;	 /* on -ENOSPC: sum of the requests of the others */
};

/* Index of the tenant called `name`, or -ENOENT. */
int tenant_find(const struct segment *segment, const char *name);
/* Does any slot in use belong to it? */
bool tenant_has_members(const struct segment *segment, uint32_t tenant);
/* Did it lose its last member less than keep_ns ago? */
static inline bool tenant_is_kept(const struct segment *segment, uint32_t tenant, uint64_t now_ns)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);
	uint64_t left = __atomic_load_n(&record->left_ns, __ATOMIC_SEQ_CST);
	uint64_t keep = __atomic_load_n(&record->keep_ns, __ATOMIC_RELAXED);

	/* A time to come is of a boot before this one: nobody waits for that tenant any more. */
	return left && left <= now_ns && now_ns - left < keep;
}
/* Is its request still promised: it has members, or lost the last one less than keep_ns ago? */
bool tenant_is_promised(const struct segment *segment, uint32_t tenant, uint64_t now_ns);

/*
 * Find or make the record for `wish` and apply it: a tenant without members takes it whole, one
 * with members only what tightens. Index, or -EBUSY (settle byte not had in 2 s), -ENFILE (table
 * full), -ENOSPC (the sum of requests would exceed the device), -ENAMETOOLONG. `settled` is the
 * descriptor of the settle byte when it was needed, kept so that the caller publishes its slot
 * under it and then gives it to life_settled; else -1.
 */
int tenant_settle(const struct segment *segment, const struct tenant_wish *wish,
		  struct tenant_outcome *outcome, int *settled);
/*
 * After a slot of `tenant` was published; `settled`: under the settle byte. 0, with `outcome`
 * brought up to date, or -ESTALE when the record became another's meanwhile or looser than `wish`,
 * or is being settled anew: give the slot up and settle again.
 */
int tenant_entered(const struct segment *segment, uint32_t tenant, const struct tenant_wish *wish,
		   bool settled, struct tenant_outcome *outcome);
/* Before a slot of `tenant` is freed: if it is the last one, its request begins to run out now. */
void tenant_leaving(const struct segment *segment, uint32_t tenant);

/* Set limit and request from outside (`cuquota set`), or hand them back to the processes
 * (`release`). 0, -ENOENT, -EBUSY, -ENOSPC. */
int tenant_administer(const struct segment *segment, const struct tenant_wish *wish, bool release);

#endif
