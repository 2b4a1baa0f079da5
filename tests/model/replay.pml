/*
 * Is there a course of the model that is what a trace of real processes tells? replay.py writes trace.h, which holds the
 * traces as arrays of C, and has spin search for one: each process is the `member` of protocol.pml, and each of its steps
 * that the code prints (SEEN) must be the next one of its process's trace, with the same slot and value, and not come before
 * a step that was over when it began. What does not fit ends the course (doomed). The end of all traces is an error for
 * spin, so that "errors: 1" means that the trace fits.
 *
 * The limit must hold on the way. Of joining and leaving only what the slot shows is held against the trace; there are no
 * deaths and no change of rules.
 */
#include "faults.pml"
#define COUNT short
#define WAITS 200

#define S_PUBLISHED 1
#define S_ASKS 2
#define S_CHARGED 3
#define S_ANNOUNCED 4
#define S_READ_PENDING 5
#define S_READ_WORD 6
#define S_COMMITTED 7
#define S_RETRACTED 8
#define S_TAKEN 9
#define S_REFUSED 10
#define S_REFUNDED 11
#define S_PENDING_CLEARED 12
#define S_WORD_CLEARED 13
#define S_FREED 14

c_decl {
\#include "trace.h"
}

/* Of each process: how many steps of its trace are done, and the next one. */
int done[SLOTS];
short next_step[SLOTS], next_slot[SLOTS], next_value[SLOTS], next_kept[SLOTS];
bit ready[SLOTS], finished, doomed;

#define NEXT_IS(step) (ready[p] && next_step[p] == step)
#define SEEN(step, slot, value)                                                               \
	if                                                                                    \
	:: NEXT_IS(step) && next_slot[p] == (slot) && next_value[p] == (value) ->             \
		kept = next_kept[p]; done[p]++; c_code { trace_next(); }                      \
	:: else -> doomed = 1                                                                 \
	fi;

#define RUNS(s) (!doomed)
#define SWEPT(s) 1
#define BEGIN (OWN + 1)
#define TOTAL (charged[0] + charged[1] + charged[2])
#define CHARGED(s) n = 0; at = IDLE; doomed = (doomed || TOTAL > limit)
#define REFUNDED(s) n = 0; at = IDLE
/* Nothing of the credit goes, and no more comes than was refunded. */
#define KEEP(s) doomed = (doomed || kept < credit[s] || kept > credit[s] + n); credit[s] = kept

#define OWN_OPTIONS                                                                                             \
	:: atomic { at == OWN + 1 && NEXT_IS(S_PUBLISHED) && RUNS(s) -> s = next_slot[p];                       \
		SEEN(S_PUBLISHED, s, 0) doomed = (doomed || state[s] == USED); state[s] = USED; at = IDLE }     \
	:: atomic { at == IDLE && NEXT_IS(S_ASKS) && RUNS(s) -> n = next_value[p]; SEEN(S_ASKS, s, n) BEGIN_CHARGE } \
	:: atomic { at == IDLE && NEXT_IS(S_REFUNDED) && RUNS(s) -> n = next_value[p];                          \
		doomed = (charged[s] < n); at = REFUND }                                                        \
	:: atomic { at == REFUSED && RUNS(s) -> SEEN(S_REFUSED, s, n) n = 0; at = IDLE }                        \
	:: atomic { at == IDLE && NEXT_IS(S_PENDING_CLEARED) && RUNS(s) ->                                      \
		SEEN(S_PENDING_CLEARED, s, 0) pending[s] = 0; at = OWN + 2 }                                    \
	:: atomic { at == OWN + 2 && RUNS(s) -> SEEN(S_WORD_CLEARED, s, 0) charged[s] = 0; credit[s] = 0; at = OWN + 3 } \
	:: atomic { at == OWN + 3 && RUNS(s) -> SEEN(S_FREED, s, 0) state[s] = FREE; at = GONE }

#define THREAD_MORE ; COUNT kept = 0

#include "protocol.pml"

init {
	atomic {
		c_code { trace_next(); };
		run member(0, 0); run member(1, 0); run member(2, 0)
	};
	finished;
	assert(0)
}
