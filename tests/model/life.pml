/*
 * Joining, leaving, forgetting and joining again, in two slots, by three processes that may be killed at any step and begin
 * anew. Stands for shim/ledger/member.c (take_slot, publish, member_leave, forget, empty) and life.c (life_take, life_claim,
 * life_unclaim, life_release), beside the charges of account.c and sum.c.
 *
 * A lock byte is one word: free, owned by a process, or by a dead one until the kernel lets it go. Which of a dead one's
 * bytes goes first, and when, is open. That the driver's memory goes before hold is assumed, of the kernel and of the driver
 * (README): a ghost, whose forked child keeps hold and memory, is one whose hold goes late. With LATE it is not assumed, and
 * the memory may come back after both bytes are free. Nobody asks the driver before a dead one's bytes are lent, so the limit
 * does not hold then: run.py has that as a known gap.
 *
 * A sum looks at the slots that the tenant's map names (member.c map_slot, segment.h segment_walk).
 *
 * Leaves out: the tests before a claim (life_test), which only save claims; when sweeps are due: anybody may forget
 * at any time when not charging; tenants; gen, which only tells a lost place.
 *
 * Shown: what the driver holds, the dead one's included, never exceeds the limit; a member's word holds what it holds, and
 * its bytes are its own; nobody at rest keeps a byte of another's slot, so no slot is lost; no deadlock.
 */
#include "faults.pml"
#ifndef PROCS
#define PROCS 3
#endif
#define SLOTS 2
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef LATE
#define LATE 0 /* 1: the driver's memory may outlive the locks */
#endif
#ifndef CLOSES
#define CLOSES 0 /* 1: a member may lose its hold while it lives */
#endif
#ifndef WAITS
#define WAITS 0
#endif
#ifndef MOST
#define MOST 1
#endif
#define SPLIT_STATE 1
#define BEGIN OUT

#define NOBODY 0 /* a byte's owner: p + 1, or LEFTOVER of a dead one */
#define LEFTOVER 9

bit dying[PROCS];
byte place[PROCS]; /* for the kernel: the slot of each process, SLOTS without one */
byte held[PROCS];  /* the truth, of the living */
byte late[SLOTS];  /* and of the dead, by their slot */
byte life[SLOTS], hold[SLOTS];

#define ALL(a) (a[0] + a[1])
#if PROCS > 2
#define TRUTH (held[0] + held[1] + held[2] + late[0] + late[1])
#else
#define TRUTH (held[0] + held[1] + late[0] + late[1])
#endif

#define RUNS(s) (!dying[p])
#define SWEPT(s) 1
#define OWNS(k) (life[k] == p + 1)
#define CHARGED(s) held[p] = held[p] + n; assert(TRUTH <= limit); assert(OWNS(s) && charged[s] == held[p]); n = 0; at = IDLE
#define REFUNDED(s) assert(OWNS(s) && charged[s] == held[p]); n = 0; at = IDLE

#define OUT (OWN + 1)
#define JOIN_LIFE (OWN + 2)
#define JOIN_HOLD (OWN + 3)
#define JOIN_PENDING (OWN + 4)
#define JOIN_WORD (OWN + 5)
#define JOIN_STATE (OWN + 6)
#define LEAVE_WORD (OWN + 7)
#define LEAVE_STATE (OWN + 8)
#define LEAVE_HOLD (OWN + 9)
#define LEAVE_LIFE (OWN + 10)
#define CLAIM_LIFE (OWN + 11)
#define CLAIM_HOLD (OWN + 12)
#define LOOK (OWN + 13)
#define EMPTY_PENDING (OWN + 14)
#define EMPTY_WORD (OWN + 15)
#define EMPTY_STATE (OWN + 16)
#define UNCLAIM_HOLD (OWN + 17)
#define UNCLAIM_LIFE (OWN + 18)
#define JOIN_MAP (OWN + 19)
#define LEAVE_MAP (OWN + 21)
#define EMPTY_MAP (OWN + 22)
#define JOIN_FORGET (OWN + 23)

/* A slot is slot i while it is being forgotten. */
#define TO_REST at = (place[p] == SLOTS -> OUT : IDLE); i = 0
#define MAY_FORGET(k) ((at == IDLE || at == OUT) && state[k] == USED && (at == OUT || k != s) && RUNS(s))

#define OWN_OPTIONS                                                                                                    \
	/* member.c take_slot, life.c life_take */                                                                     \
	:: atomic { at == OUT && state[0] == FREE && RUNS(s) -> s = 0; at = JOIN_LIFE }                                \
	:: atomic { at == OUT && state[1] == FREE && RUNS(s) -> s = 1; at = JOIN_LIFE }                                \
	:: atomic { at == JOIN_LIFE && RUNS(s) ->                                                                      \
		if                                                                                                     \
		:: life[s] == NOBODY -> life[s] = p + 1; at = JOIN_HOLD                                                \
		:: else -> at = OUT; s = 0                                                                             \
		fi }                                                                                                   \
	:: atomic { at == JOIN_HOLD && RUNS(s) ->                                                                      \
		if                                                                                                     \
		:: hold[s] == NOBODY -> hold[s] = p + 1; at = (state[s] == USED -> JOIN_FORGET : JOIN_PENDING)          \
		:: else -> life[s] = NOBODY; at = OUT; s = 0                                                           \
		fi }                                                                                                   \
	/* member.c forget_claimed: one joined and died in it since it was seen free */                                \
	:: atomic { at == JOIN_FORGET && RUNS(s) -> i = s; n = 1; pending[i] = 0; at = EMPTY_WORD }                    \
	/* member.c publish */                                                                                         \
	:: atomic { at == JOIN_PENDING && RUNS(s) -> pending[s] = 0; at = JOIN_WORD }                                  \
	:: atomic { at == JOIN_WORD && RUNS(s) ->                                                                      \
		charged[s] = (FAULT == NOT_ZEROED -> charged[s] : 0); credit[s] = (FAULT == NOT_ZEROED -> credit[s] : 0); \
		at = JOIN_MAP }                                                                                        \
	:: atomic { at == JOIN_MAP && RUNS(s) -> mapped[s] = 1; at = JOIN_STATE }                                         \
	:: atomic { at == JOIN_STATE && RUNS(s) -> state[s] = USED; place[p] = s; at = IDLE }                          \
	/* closefrom(3): the descriptor that carries hold is gone, and the driver's with it */                           \
	:: atomic { CLOSES && at == IDLE && hold[s] == p + 1 && RUNS(s) -> hold[s] = NOBODY }                          \
	/* a program with one block at most */                                                                         \
	:: atomic { at == IDLE && held[p] < MOST && RUNS(s) -> n = 1; BEGIN_CHARGE }                                   \
	:: atomic { at == IDLE && held[p] && RUNS(s) -> held[p] = held[p] - 1; n = 1; at = REFUND }                    \
	:: atomic { at == REFUSED && RUNS(s) -> n = 0; at = IDLE }                                                     \
	/* member.c member_leave and empty; life.c life_release */                                                     \
	:: atomic { at == IDLE && held[p] == 0 && RUNS(s) -> pending[s] = 0; at = LEAVE_WORD }                         \
	:: atomic { at == LEAVE_WORD && RUNS(s) -> charged[s] = 0; credit[s] = 0; at = LEAVE_STATE }                   \
	:: atomic { at == LEAVE_STATE && RUNS(s) -> state[s] = FREE; at = LEAVE_MAP }                                  \
	:: atomic { at == LEAVE_MAP && RUNS(s) -> mapped[s] = 0; at = LEAVE_HOLD }                                     \
	:: atomic { at == LEAVE_HOLD && RUNS(s) -> hold[s] = (hold[s] == p + 1 -> NOBODY : hold[s]); at = LEAVE_LIFE }                                 \
	:: atomic { at == LEAVE_LIFE && RUNS(s) -> life[s] = NOBODY; place[p] = SLOTS; s = 0; at = OUT }               \
	/* member.c forget, life.c life_claim */                                                                       \
	:: atomic { MAY_FORGET(0) -> i = 0; at = CLAIM_LIFE }                                                          \
	:: atomic { MAY_FORGET(1) -> i = 1; at = CLAIM_LIFE }                                                          \
	:: atomic { at == CLAIM_LIFE && RUNS(s) ->                                                                     \
		if                                                                                                     \
		:: FAULT == LIFE_IGNORED -> at = CLAIM_HOLD                                                            \
		:: FAULT != LIFE_IGNORED && life[i] == NOBODY -> life[i] = p + 1; at = CLAIM_HOLD                      \
		:: else -> TO_REST                                                                                     \
		fi }                                                                                                   \
	:: atomic { at == CLAIM_HOLD && RUNS(s) ->                                                                     \
		if                                                                                                     \
		:: FAULT == HOLD_IGNORED -> at = LOOK                                                                  \
		:: FAULT != HOLD_IGNORED && hold[i] == NOBODY -> hold[i] = p + 1; at = LOOK                            \
		:: else -> at = UNCLAIM_LIFE                                                                           \
		fi }                                                                                                   \
	:: atomic { at == LOOK && RUNS(s) ->                                                                           \
		at = (state[i] == USED -> EMPTY_PENDING : UNCLAIM_HOLD) }                                              \
	/* member.c empty */                                                                                           \
	:: atomic { at == EMPTY_PENDING && RUNS(s) -> pending[i] = 0; at = EMPTY_WORD }                                \
	:: atomic { at == EMPTY_WORD && RUNS(s) ->                                                                     \
		charged[i] = (FAULT == NOT_ZEROED -> charged[i] : 0); credit[i] = (FAULT == NOT_ZEROED -> credit[i] : 0); \
		at = EMPTY_STATE }                                                                                     \
	:: atomic { at == EMPTY_STATE && RUNS(s) -> state[i] = FREE;                                                       \
		need = (FAULT == UNMAPPED_LATE && !n); at = (need -> UNCLAIM_HOLD : EMPTY_MAP) }                             \
	:: atomic { at == EMPTY_MAP && RUNS(s) -> mapped[i] = 0;                                                       \
		if                                                                                                     \
		:: need -> need = 0; TO_REST                                                                           \
		:: n -> n = 0; i = 0; at = JOIN_PENDING                                                                \
		:: !need && !n -> at = UNCLAIM_HOLD                                                                    \
		fi }                                                                                                   \
	/* life.c life_unclaim */                                                                                      \
	:: atomic { at == UNCLAIM_HOLD && RUNS(s) ->                                                                   \
		hold[i] = (FAULT == HOLD_IGNORED -> hold[i] : NOBODY); at = UNCLAIM_LIFE }                             \
	:: atomic { at == UNCLAIM_LIFE && RUNS(s) ->                                                                   \
		life[i] = (FAULT == LIFE_IGNORED -> life[i] : NOBODY);                                                 \
		if                                                                                                     \
		:: need -> at = EMPTY_MAP                                                                              \
		:: else -> TO_REST                                                                                     \
		fi;                                                                                                    \
		assert(life[0] != p + 1 || place[p] == 0); assert(life[1] != p + 1 || place[p] == 1) }                 \
	/* a new program begins */                                                                                     \
	:: atomic { dying[p] -> CLEAN; FORGET_MAP; n = 0; s = 0; dying[p] = 0; place[p] = SLOTS; at = OUT }

#include "protocol.pml"

#define LET_GO(lock, k, p) lock[k] = (lock[k] == p + 1 -> LEFTOVER : lock[k])
/* From here on the process does nothing more; what it had is the kernel's to give back. */
#define KILL(p)                                                                            \
	atomic {                                                                           \
		deaths < DEATHS && !dying[p] -> deaths++;                                  \
		dying[p] = 1;                                                              \
		LET_GO(life, 0, p); LET_GO(life, 1, p); LET_GO(hold, 0, p); LET_GO(hold, 1, p); \
		if                                                                         \
		:: held[p] -> late[place[p]] = late[place[p]] + held[p]; held[p] = 0       \
		:: else                                                                    \
		fi }

init {
	byte deaths = 0;

	atomic {
		do
		:: deaths < PROCS -> place[deaths] = SLOTS; run member(deaths, 0); deaths++
		:: else -> deaths = 0; break
		od
	}
end:
	do
	:: KILL(0)
	:: KILL(1)
#if PROCS > 2
	:: KILL(2)
#endif
	:: atomic { life[0] == LEFTOVER && (hold[0] == LEFTOVER || LATE || !late[0]) -> life[0] = NOBODY }
	:: atomic { life[1] == LEFTOVER && (hold[1] == LEFTOVER || LATE || !late[1]) -> life[1] = NOBODY }
	:: atomic { hold[0] == LEFTOVER && (LATE || !late[0]) -> hold[0] = NOBODY }
	:: atomic { hold[1] == LEFTOVER && (LATE || !late[1]) -> hold[1] = NOBODY }
	:: atomic { late[0] -> late[0] = 0 }
	:: atomic { late[1] -> late[1] = 0 }
	od
}
