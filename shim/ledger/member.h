/*
 * One process in a ledger. Owns: joining, leaving, forgetting the dead, and noticing that one's own
 * place is lost.
 * Promise: a slot belongs to whoever has its two locks; joining and forgetting exclude each other
 * by the kernel, and the death of either undoes it. Never signals, never looks at a PID.
 */
#ifndef CUQUOTA_MEMBER_H
#define CUQUOTA_MEMBER_H

#include "ledger/bound.h"
#include "ledger/life.h"
#include "ledger/tenant.h"

/*
 * The handle. All zero means: not joined. It must lie in memory that fork wipes, so that a child is
 * not joined. Fields are written by join and leave; epoch, mark and checked_ns by the thread that
 * grows; all threads read.
 */
struct member {
	const struct segment *segment; /* NULL while not joined; stored last, by release */
	struct life_lock life;
	uint32_t slot, gen, tenant;
	uint32_t epoch; /* rules under which the credit was granted */
	uint32_t mark;	/* units of credit worth keeping */
	/* lock of the growing thread: 0 free, 1 taken, 2 taken and waited for */
	uint32_t growing;
	uint32_t peak;		    /* largest charged that the detail was told of */
	struct cuquota_slot *place; /* the slot, and the epoch of the header: charge and refund look
				       for neither */
	const uint32_t *rules;
	uint64_t checked_ns;
	struct bound bound; /* of what other tenants have; any thread's */
};

/*
 * Join. 0, or what tenant_settle says, or -ENFILE when all slots are taken, with a reason in `why`.
 * `reserved` as in life_take; on an error it is closed. `segment` must outlive the member. Forgets
 * the dead first when the last sweep is over 50 ms old.
 */
int member_join(struct member *member, const struct segment *segment,
		const struct tenant_wish *wish, int reserved, struct tenant_outcome *outcome,
		char why[SEGMENT_WHY]);
/* Give the slot up with all that is charged in it. */
void member_leave(struct member *member);

/* Is the place still ours: same generation, life byte ours, path names the file? Ask it at most
 * once a second. */
bool member_is_current(const struct member *member);
/* Is the slot still ours, as far as the ledger tells? Whoever seemed dead may be forgotten. */
static inline bool member_owns(const struct member *member)
{
	const struct cuquota_slot *const slot = member->place;

	return __atomic_load_n(&slot->gen, __ATOMIC_SEQ_CST) == member->gen &&
	       __atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED;
}
/* Take a lost life byte again on the same slot. 0, or -ESTALE: the place is lost, leave it alone
 * and join anew. */
int member_revive(struct member *member);

/*
 * Forget the dead of the whole device; returns how many. member_sweep does nothing when a sweep
 * that began at or after `fresh_ns` has ended; else it waits, no longer than until `until_ns`, for
 * sweeps to be allowed again (16 times the last one's length after its begin, 50 ms at most, so
 * that they take little of the time). member_sweep_now sweeps only if the last one began over 50 ms
 * ago.
 */
uint32_t member_sweep(const struct segment *segment, uint64_t fresh_ns, uint64_t until_ns);
uint32_t member_sweep_now(const struct segment *segment);
/* Forget the member of one slot if it is dead. Costs the same however many members there are. */
bool member_forget_dead(const struct segment *segment, uint32_t slot);

static inline struct cuquota_slot *member_slot(const struct member *member)
{
	return member->place;
}

static inline struct cuquota_detail *member_detail(const struct member *member)
{
	return segment_detail(member->segment, member->slot);
}

#endif
