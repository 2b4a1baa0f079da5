/*
 * Admission with a guarantee: a tenant with a request comes, goes and comes again beside one that borrows. Stands for
 * shim/ledger/sum.c (sum_admit, sum_others, judge), bound.c, tenant.c (store, make_binding, tenant_entered, tenant_leaving, tenant_is_kept) and
 * member.c (publish, empty), beside account.c.
 *
 * Slot 0 is the promised tenant's, slots 1 and 2 are the borrower's. The promised one joins, may leave or be killed at any
 * step, and joins again; keep_ns may be over at any time after left_ns was stamped. As a death, its slot is emptied by some
 * other process (life.pml shows that this is one at a time).
 *
 * Leaves out: the settle byte; a request refused because the device is promised already; lowering a request.
 *
 * Shown: while a promise binds (from the promised member's return from its join until keep_ns is over) no charge of the borrower
 * succeeds that leaves less of the device than is promised; the device is never granted twice beyond what was lent before; a
 * promised charge is refused by its limit only; no deadlock.
 *
 * With FORCES=n the thread in slot FORCER is charged by force n times, at any time at which it is idle, by a unit each. That may go
 * beyond limit and promise, so what is charged says nothing there; shown instead, of every grant whose announcement came
 * after the force had ended: with what all hold it leaves the device as large as it is, and what is promised.
 */
#include "faults.pml"
#ifndef SLOTS
#define SLOTS 2
#endif
#define TENANTS 2
#define EPOCHS 1
#ifndef DEVICE
#define DEVICE 2
#endif
#ifndef REQUEST
#define REQUEST 1
#endif
#define LIMIT DEVICE
#ifndef MOST
#define MOST 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef WAITS
#define WAITS 0
#endif

byte held[SLOTS];
bit dead;  /* the promised member was killed and not forgotten yet */
bit bound; /* its promise was made, and is not over */
byte joins = 0;
#ifndef FORCES
#define FORCES 0
#define FORCER NONE
#endif

#if SLOTS > 2
#define ALL(a) (a[0] + a[1] + a[2])
#define BORROWED (charged[1] + charged[2])
#else
#define ALL(a) (a[0] + a[1])
#define BORROWED charged[1]
#endif

#define RUNS(s) (s != 0 || !dead)
#define SWEPT(s) 1
#define CHARGED(s)                                                                                         \
	held[s] = held[s] + n; n = 0; at = IDLE;                                                           \
	assert(charged[s] == held[s]);                                                                     \
	assert(FORCES || s == 0 || !bound || BORROWED + MAX(charged[0], REQUEST) <= DEVICE);               \
	assert(FORCES || s != 0 || charged[0] <= REQUEST || ALL(charged) <= DEVICE)
#if FORCES
byte forces;
bit forcing;        /* between two steps of it */
bit excused[SLOTS]; /* since the slot's announcement somebody was charged by force */
#if SLOTS > 2
#define EXCUSE_ALL excused[0] = 1; excused[1] = 1; excused[2] = 1
#else
#define EXCUSE_ALL excused[0] = 1; excused[1] = 1
#endif
#define FORCED_STEP forcing = 1; EXCUSE_ALL
#define FORCED need = 0; forcing = 0; at = IDLE
#define ANNOUNCES(s) excused[s] = forcing
#define USE0 (charged[0] + credit[0])
#define GRANTS(s)                                                                                           \
	assert(excused[s] || own_epoch[s] != epoch || (s == 0 && USE0 + need <= REQUEST) ||                 \
		ALL(charged) + ALL(credit) + need + (s && bound && USE0 < REQUEST -> REQUEST - USE0 : 0) <= DEVICE)
#define FORCE_OPTIONS                                                                                       \
	:: atomic { at == IDLE && s == FORCER && forces < FORCES && RUNS(s) ->                              \
		forces++; need = 1; at = (FAULT == FORCE_RISEN_FIRST -> FORCE_RISEN : FORCE) }
#define FORGET_FORCE forcing = (FORCER == 0 -> 0 : forcing)
#else
#define FORCE_OPTIONS
#define FORGET_FORCE skip
#endif
#define REFUNDED(s) n = 0; at = IDLE; assert(charged[s] == held[s])
#define BEGIN (s == 0 -> OUT : IDLE)

#define OUT (OWN + 1)
#define STORE_EPOCH (OWN + 2)
#define STORE_TAKE (OWN + 3)
#define PUBLISH (OWN + 4)
#define ENTER_EPOCH (OWN + 5)
#define ENTER_TAKE (OWN + 6)
#define ENTERED (OWN + 7)
#define LEAVE_STAMP (OWN + 8)
#define LEAVE_WORD (OWN + 9)
#define LEAVE_STATE (OWN + 10)
#define STORE_REQUEST (OWN + 11)

/* tenant.c make_binding: epoch first, then the credit of all, slot by slot. */
#define TAKE_ALL(k) credit[k] = 0

#define OWN_OPTIONS                                                                                                  \
	/* member.c member_join, tenant.c tenant_settle and store */                                                 \
	:: atomic { at == OUT && !dead && joins < 2 -> joins++; requests = 1; at = STORE_REQUEST }                    \
	:: atomic { at == STORE_REQUEST && RUNS(s) -> request[0] = REQUEST; at = STORE_EPOCH }                       \
	:: atomic { at == STORE_EPOCH && RUNS(s) -> epoch++; at = STORE_TAKE; i = 0 }                                \
	:: atomic { at == STORE_TAKE && RUNS(s) -> TAKE_ALL(i); i++;                                                 \
		at = (i == SLOTS -> PUBLISH : STORE_TAKE); i = (i == SLOTS -> 0 : i) }                               \
	/* a new owner: its handle has no epoch yet */                                                               \
	:: atomic { at == PUBLISH && RUNS(s) -> charged[0] = 0; credit[0] = 0; pending[0] = 0; own_epoch[0] = 0;     \
		growing[0] = 0; mark[0] = 0; known[0] = NOTHING; others_most[0] = 0; state[0] = USED; at = (FAULT == BOUND_ONCE -> ENTERED : ENTER_EPOCH) }               \
	/* tenant.c tenant_entered */                                                                                \
	:: atomic { at == ENTER_EPOCH && RUNS(s) -> epoch++; at = ENTER_TAKE; i = 0 }                                \
	:: atomic { at == ENTER_TAKE && RUNS(s) -> TAKE_ALL(i); i++;                                                 \
		at = (i == SLOTS -> ENTERED : ENTER_TAKE); i = (i == SLOTS -> 0 : i) }                               \
	:: atomic { at == ENTERED && RUNS(s) -> bound = (BORROWED + REQUEST <= DEVICE -> 1 : bound); at = IDLE }     \
	/* the program */                                                                                            \
	:: atomic { at == IDLE && held[s] < MOST && RUNS(s) -> n = 1; BEGIN_CHARGE }                                 \
	:: atomic { at == IDLE && held[s] && RUNS(s) -> held[s] = held[s] - 1; n = 1; at = REFUND }                  \
	:: atomic { at == REFUSED && RUNS(s) -> n = 0; at = IDLE }                                                   \
	FORCE_OPTIONS                                                                                                \
	/* member.c member_leave and empty */                                                                        \
	:: atomic { at == IDLE && s == 0 && held[0] == 0 && RUNS(s) ->                                               \
		kept[0] = (FAULT == STAMPED_LATE -> kept[0] : 1); at = LEAVE_WORD }                                  \
	:: atomic { at == LEAVE_WORD && RUNS(s) -> pending[0] = 0; charged[0] = 0; credit[0] = 0; at = LEAVE_STATE } \
	:: atomic { at == LEAVE_STATE && RUNS(s) -> state[0] = FREE; at = LEAVE_STAMP }                              \
	:: atomic { at == LEAVE_STAMP && RUNS(s) -> kept[0] = (FAULT == STAMPED_LATE -> 1 : kept[0]); at = OUT }     \
	:: atomic { dead && s == 0 -> CLEAN; n = 0; fast = 1; seen = 0; was = 0; rules = 0; held[0] = 0;             \
		trust = 0; summing = 0; known[0] = NOTHING; others_most[0] = 0; used_other = 0; pend_other = 0; low_other = NONE; promise = 0; present = 0; \
		dead = 0; at = (state[0] == USED -> FORGET_STAMP : OUT) }                                            \
	/* the same by a stranger, of a dead one */                                                                  \
	:: atomic { at == FORGET_STAMP -> kept[0] = (FAULT == STAMPED_LATE -> kept[0] : 1); at = FORGET_WORD }       \
	:: atomic { at == FORGET_WORD -> FORGET_FORCE; pending[0] = 0; charged[0] = 0; credit[0] = 0; at = LEAVE_STATE }
#define FORGET_STAMP (OWN + 12)
#define FORGET_WORD (OWN + 13)

#include "protocol.pml"

init {
	byte deaths = 0;

	atomic {
		tenant[1] = 1; state[1] = USED;
		run member(0, 0);
		run member(1, 1);
#if SLOTS > 2
		tenant[2] = 1; state[2] = USED;
		run member(2, 2)
#endif
	}
end:
	do
	:: atomic { deaths < DEATHS && !dead -> deaths++; dead = 1 }
	/* keep_ns is over: only while no member is there does it count */
	:: atomic { kept[0] && state[0] == FREE -> kept[0] = 0; bound = 0 }
	od
}
