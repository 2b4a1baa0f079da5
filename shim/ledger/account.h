/*
 * A member's account. Owns: charge, refund, grow, and the sums behind every figure that is shown;
 * the door to futex.
 * Promise: charge and refund never wait; grow waits at most 60 ms in all; the rules hold at every
 * instant whoever dies or stops; credit belongs to nobody until it is charged. May be called from
 * any thread; never calls CUDA.
 */
#ifndef CUQUOTA_ACCOUNT_H
#define CUQUOTA_ACCOUNT_H

#include "base/point.h"
#include "ledger/member.h"
#include "ledger/sum.h"

enum refusal_cause {
	REFUSED_LIMIT = 1,
	REFUSED_GUARANTEE, /* the memory is promised to others */
};

/* Why a charge was refused; bytes. What is needed for the line that explains it. */
struct refusal {
	enum refusal_cause cause;
	bool above; /* by the second of two accounts that are charged together; never set here */
	uint64_t asked;
	uint64_t used;	   /* charged by the tenant */
	uint64_t limit;	   /* of the tenant, CUQUOTA_NONE without */
	uint64_t room;	   /* what would have been granted */
	uint64_t top_used; /* by the member of the tenant that holds most */
	int32_t top_pid;   /* in its own PID namespace */
	char top_command[16];
};

void account_note_peak(struct member *member, uint32_t charged);

/*
 * Charge out of credit; false where that is short, or was granted under other rules.
 *
 * Word before epoch, then the swap of word. Whoever tightens raises the epoch, then takes all
 * credit: if our load of the epoch came before that, the swap fails on the word it changed, or came
 * before it and was granted in time.
 */
static inline bool account_charge_credit(struct member *member, uint32_t units)
{
	struct cuquota_slot *slot = member_slot(member);
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST), next;

	do {
		if (CUQUOTA_CREDIT(word) < units)
			return false;
		if (__atomic_load_n(member->rules, __ATOMIC_SEQ_CST) !=
		    __atomic_load_n(&member->epoch, __ATOMIC_RELAXED))
			return false;
		/* From one count into the other; neither can overflow, as their sum does not
		 * change. */
		next = word + CUQUOTA_WORD(units, 0, 0) - CUQUOTA_WORD(0, units, 0);
		POINT("account.charging");
	} while (!__atomic_compare_exchange_n(&slot->word, &word, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	TRACE("charged", member->slot, units, 0);
	POINT("account.charged");
	if (__builtin_expect(
		    CUQUOTA_CHARGED(next) > __atomic_load_n(&member->peak, __ATOMIC_RELAXED), 0))
		account_note_peak(member, CUQUOTA_CHARGED(next));
	return true;
}

/* The slow half of account_charge. */
int account_grow(struct member *member, uint32_t units, struct refusal *refusal);

/*
 * Move `units` of 64 KiB into the account. 0; -EDQUOT with the reason in `refusal` (may be NULL);
 * -ESTALE where the slot is no longer ours. Before it refuses it forgets the dead and takes back
 * idle credit.
 */
static inline int account_charge(struct member *member, uint32_t units, struct refusal *refusal)
{
	return __builtin_expect(account_charge_credit(member, units), 1)
		       ? 0
		       : account_grow(member, units, refusal);
}
/* Why `units` more cannot be had, for the line that tells it. `refusal` may be NULL. */
void account_explain(const struct member *member, const struct sum *sum, uint32_t units,
		     enum verdict verdict, struct refusal *refusal);
/* Move them out again: kept as credit up to a mark, dropped beyond. */
void account_refund(struct member *member, uint32_t units);
/* Charge what the driver has taken already. Never refused: may go beyond the limit; later charges
 * are then refused. */
void account_force(struct member *member, uint32_t units);
/* Units that a charge would get at this moment, idle credit of others counted as free. A hint:
 * others race. */
uint32_t account_room(const struct member *member);

/* What one tenant has; bytes. Without a lock: right to within what changes during the call. */
struct account_use {
	uint64_t charged; /* claims and blocks of its members, ghosts included */
	uint64_t credit;  /* granted, idle */
	uint64_t limit;	  /* CUQUOTA_NONE without */
	uint64_t request;
	uint64_t free;	 /* what admission would grant, by limit and the others' guarantees */
	uint64_t beside; /* the same by the others' guarantees alone; CUQUOTA_NONE without any */
	uint64_t lent;	 /* of its request, what others hold */
	uint32_t members;
};
int account_use(const struct segment *segment, uint32_t tenant, struct account_use *use);
/* The same of a member's tenant; what is found of others is noted in its bound. */
int account_use_own(struct member *member, struct account_use *use);

/* Sums over the device, and whether anybody else's account moved since: for measurements made
 * alone. */
struct account_watch {
	uint64_t charged; /* bytes of all members, the watcher included */
	uint64_t others;  /* of all but the watcher */
	uint64_t print;	  /* fingerprint of the others' words, announcements and generations */
};
void account_watch(const struct member *member, struct account_watch *watch);
bool account_undisturbed(const struct member *member, const struct account_watch *watch);

/*
 * Take back the credit of all slots of `tenant` (SEGMENT_ALL: of all tenants) and void what their
 * threads have read of it. For whoever tightens a rule, after raising the epoch. Never waits.
 */
void account_void_credit(const struct segment *segment, uint32_t tenant);

#endif
