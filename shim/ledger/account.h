/*
 * A member's account. Owns: charge, refund, grow, and the sums behind every figure that is shown; the door to futex.
 * Promise: charge and refund never wait; grow waits at most 60 ms in all; the rules hold at every instant whoever
 * dies or stops; credit belongs to nobody until it is charged. May be called from any thread; never calls CUDA.
 */
#ifndef CUQUOTA_ACCOUNT_H
#define CUQUOTA_ACCOUNT_H

#include "ledger/member.h"

enum refusal_cause {
	REFUSED_LIMIT = 1,
	REFUSED_GUARANTEE, /* the memory is promised to others */
};

/* Why a charge was refused; bytes. What is needed for the line that explains it. */
struct refusal {
	enum refusal_cause cause;
	uint64_t asked;
	uint64_t used;	   /* charged by the tenant */
	uint64_t limit;	   /* of the tenant, CUQUOTA_NONE without */
	uint64_t room;	   /* what would have been granted */
	uint64_t top_used; /* by the member of the tenant that holds most */
	int32_t top_pid;   /* in its own PID namespace */
	char top_command[16];
};

/*
 * Move `units` of 64 KiB into the account. 0, or -EDQUOT with the reason in `refusal` (may be NULL). Before it
 * refuses it forgets the dead and takes back idle credit.
 */
int account_charge(struct member *member, uint32_t units, struct refusal *refusal);
/* Move them out again: kept as credit up to a mark, dropped beyond. */
void account_refund(struct member *member, uint32_t units);
/* Charge what the driver has taken already. Never refused: may go beyond the limit; later charges are then refused. */
void account_force(struct member *member, uint32_t units);
/* Units that a charge would get at this moment, idle credit of others counted as free. A hint: others race. */
uint32_t account_room(const struct member *member);

/* What one tenant has; bytes. Without a lock: right to within what changes during the call. */
struct account_use {
	uint64_t charged; /* claims and blocks of its members, ghosts included */
	uint64_t credit;  /* granted, idle */
	uint64_t limit;	  /* CUQUOTA_NONE without */
	uint64_t request;
	uint64_t free; /* what admission would grant, by the limit and by the others' guarantees */
	uint64_t lent; /* of its request, what others hold */
	uint32_t members;
};
int account_use(const struct segment *segment, uint32_t tenant, struct account_use *use);

/* Sums over the device, and whether anybody else's account moved since: for measurements made alone. */
struct account_watch {
	uint64_t charged; /* bytes of all members, the watcher included */
	uint64_t others;  /* of all but the watcher */
	uint64_t print;	  /* fingerprint of the others' words, announcements and generations */
};
void account_watch(const struct member *member, struct account_watch *watch);
bool account_undisturbed(const struct member *member, const struct account_watch *watch);

/*
 * Take back the credit of all slots of `tenant` (UINT32_MAX: of all tenants) but slot `except` (UINT32_MAX: none). For
 * whoever tightens a rule, after raising the epoch, and before a refusal. Never waits.
 */
void account_take_credit(const struct segment *segment, uint32_t tenant, uint32_t except);

#endif
