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
 * The gap: of a member with two threads this holds for charges that begin after the return. STRICT 1 shows why not for those
 * that began before: a commit or refund that the other thread had begun under the old rules makes the word look again as the
 * charge had loaded it before its credit was taken, tag and all, so that its swap holds. With TAKE_TAGS 1 whoever tightens
 * changes the tag too, credit or not, and STRICT holds; the code does not do that yet.
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
#ifndef TAKE_TAGS
#define TAKE_TAGS 0
#endif
#ifndef STRICT
#define STRICT 0
#endif
#define EPOCHS 1
#ifndef WAITS
#define WAITS 0
#endif

bit bound, excused;
bit busy[3], old[3]; /* in a call; in one that began before the return */
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
/* Of two threads: the charge began before the return. */
#define IN_GAP (old[p])
#define ENDED n = 0; busy[p] = 0; old[p] = 0; at = IDLE

#define OWN_OPTIONS                                                                             \
	:: atomic { at == IDLE && held[p] < MOST -> n = 1; busy[p] = 1; BEGIN_CHARGE }           \
	:: atomic { at == IDLE && held[p] -> held[p] = held[p] - 1; n = 1; busy[p] = 1; at = REFUND } \
	:: atomic { at == REFUSED -> ENDED }

#include "protocol.pml"

#if TAKE_TAGS
#define TAKE_FROM(k) d_step { credit[k] = 0; tag[k] = epoch }
#else
#define TAKE_FROM(k) credit[k] = 0
#endif

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
	d_step {
		bound = 1;
		old[0] = busy[0]; old[1] = busy[1]; old[2] = busy[2]
	}
}
