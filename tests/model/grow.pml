/*
 * Members of one tenant charge, grow, refund and take each other's credit. Stands for shim/ledger/account.c (all but what
 * explains a refusal) and sum.c, driven as shim/policy/claim.c and hooks/memory.c do: charge, then the driver; the driver,
 * then refund.
 *
 * Leaves out: joining and the locks (life.pml): a dead one's slot is forgotten word by word by some process, which need not
 * be the one that waits for it; rules that change (tighten.pml); requests (guarantee.pml); several threads of one member. A
 * wait may be over at any time.
 *
 * DEATHS, STOPS: how many members may be killed, or stopped and perhaps continued, at any step. PATIENT 1: nobody dies
 * or stops and waits have no end, so that two who wait for each other are a deadlock.
 *
 * Shown: what the driver holds never exceeds the limit; a word holds what its owner holds (no lost charge); no deadlock; a
 * grow that wants to refuse waits until the dead are forgotten, which always comes. With PROGRESS instead: a charge of
 * member 0 comes to its end, whatever the others do or suffer (weak fairness for those who are not stopped or dead).
 */
#include "faults.pml"
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef MOST
#define MOST 2	/* units that one member holds at most */
#endif
#ifndef PIECE
#define PIECE 2	/* the largest charge */
#endif

#ifndef PROGRESS
#define PROGRESS 0
#endif
#if FAULT == WAITS_UNBOUNDED
#define PATIENT 1
#endif

#define LIVES 0
#define STOPPED 1
#define DEAD 2

byte fate[SLOTS];
bit busy;	  /* member 0 is in a charge */
byte held[SLOTS]; /* the truth: what the driver gave to each process and has not had back */

#if SLOTS > 2
#define ALL(a) (a[0] + a[1] + a[2])
#define LEFT ((fate[0] == DEAD && state[0]) || (fate[1] == DEAD && state[1]) || (fate[2] == DEAD && state[2]))
#else
#define ALL(a) (a[0] + a[1])
#define LEFT ((fate[0] == DEAD && state[0]) || (fate[1] == DEAD && state[1]))
#endif

#define RUNS(s) (fate[s] == LIVES)
#define SWEPT(s) (!LEFT)
#if FAULT == DRIVER_FIRST
#define TAKEN skip
#define CALLED held[s] = held[s] + n; assert(ALL(held) <= limit)
#define GIVEN held[s] = held[s] - n
#else
#define TAKEN held[s] = held[s] + n; assert(ALL(held) <= limit)
#define CALLED skip
#define GIVEN skip
#endif
/* The driver grants or refuses. */
#define BUSY(value) busy = (PROGRESS && s == 0 -> value : busy)
#define CHARGED(s)                                                      \
	BUSY(0);                                                        \
	if                                                              \
	:: TAKEN; assert(charged[s] == held[s]); n = 0; at = IDLE       \
	:: FAULT != DRIVER_FIRST && FAULT != REFUND_FIRST -> at = REFUND                         \
	fi
#define REFUNDED(s)                                                     \
	if                                                              \
	:: FAULT == REFUND_FIRST -> at = OWN + 1                        \
	:: else -> assert(charged[s] == held[s]); n = 0; at = IDLE      \
	fi
#define MAY_HOLD (held[s] < MOST)

/* The kernel gives the memory back, then the locks end. */
#define FORGET                                      \
	atomic { held[k] = 0; pending[k] = 0 };     \
	atomic { charged[k] = 0; credit[k] = 0 };   \
	state[k] = FREE

#define OWN_OPTIONS                                                                                          \
	:: atomic { at == IDLE && MAY_HOLD && RUNS(s) -> n = 1; CALLED; BUSY(1); BEGIN_CHARGE }               \
	:: atomic { at == IDLE && PIECE > 1 && held[s] + 2 <= MOST && RUNS(s) -> n = 2; CALLED; BUSY(1); BEGIN_CHARGE } \
	:: atomic { at == IDLE && held[s] && RUNS(s) ->                                                       \
		held[s] = held[s] - (FAULT == REFUND_FIRST -> 0 : 1); n = 1; at = REFUND }                    \
	:: atomic { at == OWN + 1 && RUNS(s) -> held[s] = held[s] - 1; n = 0; at = IDLE }                     \
	:: atomic { at == IDLE && held[s] == 0 && RUNS(s) ->                                                  \
		charged[s] = 0; credit[s] = 0; at = OWN }                                                     \
	:: atomic { at == OWN && RUNS(s) -> state[s] = FREE; at = GONE }                                      \
	:: atomic { at == REFUSED && RUNS(s) -> GIVEN; BUSY(0); n = 0; at = IDLE }                                     \
	:: atomic { fate[s] == DEAD -> CLEAN; n = 0; at = GONE }

#include "protocol.pml"

/* member.c forget and empty, by anybody; that it is one at a time is shown in life.pml. */
#if DEATHS
active proctype sweeper()
{
	byte k = 0;
end:
	do
	:: atomic { fate[0] == DEAD && state[0] -> k = 0 }; FORGET
	:: atomic { fate[1] == DEAD && state[1] -> k = 1 }; FORGET
#if SLOTS > 2
	:: atomic { fate[2] == DEAD && state[2] -> k = 2 }; FORGET
#endif
	od
}
#endif

init {
	byte deaths = 0, stops = 0;

	atomic {
		do
		:: deaths < SLOTS -> state[deaths] = USED; run member(deaths, deaths); deaths++
		:: else -> deaths = 0; break
		od
	}
#if DEATHS || STOPS
end:
	do
	/* Those who do not die by now never do. */
	:: atomic { PROGRESS && (deaths < DEATHS || stops < STOPS) -> deaths = DEATHS; stops = STOPS }
	:: atomic { deaths < DEATHS -> deaths++;
		if
		:: !PROGRESS -> fate[0] = DEAD
		:: fate[1] = DEAD
		:: SLOTS > 2 -> fate[SLOTS - 1] = DEAD
		fi }
	:: atomic { stops < STOPS -> stops++;
		if
		:: !PROGRESS && fate[0] == LIVES -> fate[0] = STOPPED
		:: fate[1] == LIVES -> fate[1] = STOPPED
		:: SLOTS > 2 && fate[SLOTS - 1] == LIVES -> fate[SLOTS - 1] = STOPPED
		:: else
		fi }
	od
#endif
}

#if PROGRESS
ltl ends { [] (busy -> <> !busy) }
#endif
