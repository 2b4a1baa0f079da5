/*
 * A limit is lowered while members charge, grow and refund; one of them has two threads. Stands for shim/ledger/tenant.c
 * (store, make_binding) beside account.c with its epoch: charge_credit, adopt_epoch, lock_growing, account_void_credit.
 *
 * Leaves out: deaths (grow.pml, life.pml); who may lower a limit, the settle byte (settle.pml). The one who
 * lowers may be stopped or killed between any two steps: then it has not returned, and nothing is promised yet.
 *
 * Shown: once it has returned, no charge succeeds that leaves the tenant above the new limit, those in flight included; before,
 * none above the old one; a word is never below what its threads hold; no deadlock.
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
#define EPOCHS 1
#ifndef WAITS
#define WAITS 0
#endif

bit bound;
byte held[3]; /* threads 0 and 1 are of slot 0, thread 2 is of slot 1 */

#define ALL(a) (a[0] + a[1])
#define RUNS(s) 1
#define SWEPT(s) 1
#define TRUE_WORDS charged[0] >= held[0] + held[1] && charged[1] >= held[2]
#define CHARGED(s)                                                              \
	held[p] = held[p] + n;                                                  \
	assert(ALL(charged) <= (bound -> LOWER : LIMIT)); assert(TRUE_WORDS); ENDED
#define REFUNDED(s) assert(TRUE_WORDS); ENDED
#define ENDED n = 0; at = IDLE

#define OWN_OPTIONS                                                                             \
	:: atomic { at == IDLE && held[p] < MOST -> n = 1; BEGIN_CHARGE }           \
	:: atomic { at == IDLE && held[p] -> held[p] = held[p] - 1; n = 1; at = REFUND } \
	:: atomic { at == REFUSED -> ENDED }

#include "protocol.pml"

#define TAKE_FROM(k) d_step { credit[k] = 0; tag[k] = (FAULT == TAG_KEPT -> tag[k] : epoch) }

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
	:: FAULT != CREDIT_LEFT -> TAKE_FROM(0); TAKE_FROM(1)
	:: FAULT == CREDIT_LEFT
	fi;
	bound = 1
}
