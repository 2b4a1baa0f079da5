/*
 * A limit is lowered while members charge, grow and refund; one of them has two threads. Stands for shim/ledger/tenant.c
 * (store, make_binding) beside account.c with its epoch: charge_credit, adopt_epoch, lock_growing, account_refund's second
 * look.
 *
 * Leaves out: deaths (grow.pml, life.pml); who may lower a limit, the settle byte (tenant.c tenant_settle). The one who
 * lowers may be stopped or killed between any two steps: then it has not returned, and nothing is promised yet.
 *
 * Shown: once it has returned, no charge succeeds that leaves the tenant above the new limit, those in flight included; before,
 * none above the old one; a word is never below what its threads hold; no deadlock.
 *
 * The gap: of a member with two threads this holds for charges that begin after the return, but while a refund of the other
 * thread is under way that began before. STRICT 1 shows why not for all: a late commit or refund of the other thread makes
 * the word look again as a charge had loaded it before the credit was taken, so that its swap holds; and credit that a refund
 * kept under the old rules may be used in the moment before its second look, if the handle's epoch is the new one already.
 */
#include "faults.pml"
#define SLOTS 2
#ifndef THREADS
#define THREADS 3
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef LOWER
#define LOWER 1
#endif
#ifndef MOST
#define MOST 1
#endif
#ifndef SINGLE
#define SINGLE 0 /* 1: two members with one thread each */
#endif
#ifndef STRICT
#define STRICT 0
#endif
#define EPOCHS 1
#ifndef WAITS
#define WAITS 0
#endif

bit bound, gap, excused;
byte busy[3]; /* 1 in a charge, 2 in a refund */
bit old[3];   /* in a call that began before the return */
byte held[3]; /* threads 0 and 1 are of slot 0, thread 2 is of slot 1 */

#define ALL(a) (a[0] + a[1])
#define RUNS(s) 1
#define SWEPT(s) 1
#define TRUE_WORDS charged[0] >= held[0] + held[1] && charged[1] >= held[2]
#define CHARGED(s)                                                              \
	held[p] = held[p] + n;                                                  \
	excused = (bound && !STRICT && p != 2 && IN_GAP && ALL(charged) > LOWER -> 1 : excused); \
	assert(ALL(charged) <= (BINDS -> LOWER : LIMIT)); assert(TRUE_WORDS); ENDED
#define REFUNDED(s) assert(TRUE_WORDS); ENDED
#define BINDS (bound && !excused && (STRICT || p == 2 || !IN_GAP))
/* Of two threads: the charge began before the return, or the other one is in a refund that did. */
#define IN_GAP (old[p] || (gap && old[1 - p]))
#define ENDED n = 0; busy[p] = 0; old[p] = 0; at = IDLE

#define OWN_OPTIONS                                                                             \
	:: atomic { at == IDLE && held[p] < MOST -> n = 1; busy[p] = 1; BEGIN_CHARGE }           \
	:: atomic { at == IDLE && held[p] -> held[p] = held[p] - 1; n = 1; busy[p] = 2; at = REFUND } \
	:: atomic { at == REFUSED -> ENDED }

#include "protocol.pml"

init {
	atomic {
		state[0] = USED; state[1] = USED;
		run member(0, 0);
#if !SINGLE
		run member(1, 0);
#endif
#if THREADS > 2
		run member(2, 1)
#endif
	};
	/* tenant.c store and make_binding */
	limit = LOWER;
	epoch++;
	if
	:: FAULT != CREDIT_LEFT -> credit[0] = 0; credit[1] = 0
	:: FAULT == CREDIT_LEFT
	fi;
	d_step {
		bound = 1; gap = (busy[0] == 2 || busy[1] == 2);
		old[0] = busy[0] != 0; old[1] = busy[1] != 0; old[2] = busy[2] != 0
	}
}
