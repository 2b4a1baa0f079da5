/*
 * The protocol of the ledger as Promela: the shared words, and what a thread that charges and refunds (thread.pml) does in a
 * step. Included by the models (grow, tighten, guarantee, life) and by replay.pml, so that what is checked and what real
 * traces are held against is one text.
 *
 * A thread is a loop over `atomic` options, one for each access to shared memory; what the code does without touching
 * shared memory is joined to the access before it. `at` says where the thread is. All accesses of the code that matter are
 * sequentially consistent, as Promela's are. A compare-and-swap that is tried until it holds is one step, unless
 * something else is read between its load and its swap. A death or stop may come between any two steps (RUNS).
 *
 * A model sets, before it includes this: SLOTS, LIMIT; RUNS(s): the thread may take a step; SWEPT(s): all the dead that a
 * sweep would forget are forgotten; SPLIT_STATE 1 when slots are used again;
 * EPOCHS 1 when rules change; TENANTS 2 when requests count; PATIENT 1 when waits have
 * no end; WAITS: how many a grow may make; STOLEN: how many grants others may take from it before it gives up (0: any number).
 * FORCES: how often a thread of the model is charged by force (FORCED_STEP: with each step of it, FORCED: with the
 * last); ANNOUNCES(s), GRANTS(s): with these steps of a grow.
 * FAULT plants one of the faults below. SEEN(step, slot, value) is empty but in a replay, where it must fit the trace.
 */
#include "faults.pml"
#ifndef EPOCHS
#define EPOCHS 0
#endif
#ifndef TENANTS
#define TENANTS 1
#endif
#ifndef SPLIT_STATE
#define SPLIT_STATE 0
#endif
#ifndef BEGIN
#define BEGIN IDLE
#endif
#ifndef PATIENT
#define PATIENT 0
#endif
#ifndef WAITS
#define WAITS 1
#endif
#ifndef STOLEN
#define STOLEN 0
#endif
#ifndef FORCES
#define FORCES 0
#endif
#ifndef GRANTS
#define ANNOUNCES(s) skip
#define GRANTS(s) skip
#endif
#ifndef SEEN
#define SEEN(step, slot, value)
#define COUNT byte
#define THREAD_MORE
#endif

#define FREE 0
#define USED 1
#define NONE 255

/* Verdicts of sum.c sum_judge. */
#define GRANT 0
#define RACE 1
#define BY_LIMIT 2
#define BY_GUARANTEE 3

/* Where a thread is: what it does next. */
#define IDLE 0
#define CHARGE 1	/* account.c charge_credit: load word */
#define SWAP 2		/* charge_credit: swap word */
#define ANNOUNCE 3	/* account.c announce */
#define PENDING 4	/* sum.c read_slot of slot i: load pending */
#define WORD 5		/* read_slot: load word */
#define COMMIT 6	/* account.c commit */
#define CLEAR 7		/* account.c retract, after the commit */
#define RETRACT 8	/* account.c retract, nothing had */
#define WAIT 9		/* account.c stand_by, PATIENT only */
#define SWEEP 10	/* account.c recover: member_sweep */
#define TAKE 11		/* recover: account_take_credit, slot i */
#define REFUSED 12	/* the charge comes back: refused */
#define REFUND 13	/* account.c account_refund: load word, or all of it without an epoch */
#define GONE 14		/* no more: left, or never joined */
#define STORE_BACK 15	/* the second step of TAKEN_BY_STORE and STRANGER_RAISES */
#define LOOKED 16	/* read_slot: state was loaded */
#define MAP 17		/* segment.h segment_step: load the map of 64 slots */
#define OWN 40		/* a model's own steps begin here */
#define EPOCH 30	/* charge_credit: load epoch */
#define LOCK 31		/* account.c lock_growing */
#define ADOPT 32	/* account.c adopt_epoch: load epoch */
#define DROP 33		/* adopt_epoch: take the own credit */
#define ADOPTED 34	/* adopt_epoch: store the handle's */
#define AGAIN 35	/* account.c grow: load word after charge_credit failed */
#define REFUND_EPOCH 36 /* account_refund: load epoch */
#define REFUND_SWAP 37	/* account_refund: swap word */
#define RISE 20		/* account.c announce: load requests */
#define RISEN 21	/* bound.h bound_rise */
#define ADMIT 22	/* sum.c sum_admit: load requests, then bound.c bound_others */
#define EXACT 23	/* sum.c sum_take: load requests */
#define BASE 24		/* bound.c bound_begin */
#define FORCE 25	/* account.c account_force: swap word */
#define FORCE_RISEN 26	/* account_force: bound.h bound_rise */

/* struct cuquota_slot, record and header, as far as they matter. */
COUNT charged[SLOTS], credit[SLOTS], pending[SLOTS];
bit state[SLOTS];
#if SPLIT_STATE
bit mapped[SLOTS]; /* the tenant's map, behind its record */
#endif
COUNT limit = LIMIT;
#if EPOCHS
byte epoch;
/* Struct member of the process that owns the slot. */
byte own_epoch[SLOTS];
bit growing[SLOTS];
bit mark[SLOTS]; /* is it more than nothing? */
byte tag[SLOTS]; /* in word: changed by whoever tightens */
#endif
#if TENANTS > 1
bit tenant[SLOTS];
byte request[2];
bit kept[2]; /* tenant.c tenant_is_kept: left_ns is stamped and keep_ns not over */
bit requests;
/*
 * Struct bound of the process that owns the slot, as what it comes to: what it saw the other tenant have, and what that one's
 * risen grew by since. More than the device has is all the same.
 */
byte others_most[SLOTS];
byte known[SLOTS];
#define NOTHING 0
#define FILLING 1 /* slots are being read */
#define KNOWN 2
#define RAISE(k) \
	if \
	:: known[k] != NOTHING && !SAME(k) -> others_most[k] = (others_most[k] + need > DEVICE -> DEVICE + 1 : others_most[k] + need) \
	:: else \
	fi
#if SLOTS > 2
#define RAISE_ALL RAISE(0); RAISE(1); RAISE(2)
#else
#define RAISE_ALL RAISE(0); RAISE(1)
#endif
#endif

/* The locals of a thread, in slot s. */
#define LOCALS                                                                                                   \
	byte at = BEGIN, i = 0, low = NONE, verdict = 0, recovered = 0, waits = 0, stolen = 0;                    \
	COUNT n = 0, need = 0, used = 0, pend = 0, was = 0
#if EPOCHS
#define LOCALS_EPOCH                       \
	; COUNT seen = 0; byte rules = 0, tagged = 0; bit fast = 1, room = 0
#else
#define LOCALS_EPOCH
#endif
#if SPLIT_STATE
#define LOCALS_MAP ; byte map = 0
#define FORGET_MAP map = 0
#define TO_SUM MAP
#else
#define LOCALS_MAP
#define FORGET_MAP skip
#if TENANTS > 1
#define TO_SUM ADMIT
#else
#define TO_SUM PENDING
#endif
#endif
#if TENANTS > 1
#define LOCALS_TENANT \
	; byte used_other = 0, pend_other = 0, low_other = NONE, promise = 0; bit present = 0, summing = 0, trust = 0
#else
#define LOCALS_TENANT
#endif
#define THREAD_LOCALS LOCALS LOCALS_EPOCH LOCALS_MAP LOCALS_TENANT THREAD_MORE
#define CLEAN i = 0; low = NONE; verdict = 0; recovered = 0; waits = 0; stolen = 0; need = 0; used = 0; pend = 0

#if TENANTS > 1
#define SAME(k) (tenant[k] == tenant[s])
#define TAKES_FROM(k) (k != s && state[k] == USED && (verdict == BY_GUARANTEE || SAME(k)))
#else
#define TAKES_FROM(k) (k != s && state[k] == USED)
#endif
#if FAULT == LOWEST_BLIND
#define KEEPING_ENDS (ALL(pending) == pending[s])
#else
#define KEEPING_ENDS (pending[low] == 0 || (s > 0 && pending[0]) || (s > 1 && pending[1]))
#endif

/* sum.c sum_judge for one tenant: certain if it fails without the others' announcements, a race if it fails with them. */
inline judge_limit()
{
	if
	:: used + need > limit -> verdict = BY_LIMIT
	:: used + need <= limit && used + pend + need > limit -> verdict = RACE
	:: else -> verdict = GRANT
	fi
}

#if TENANTS > 1
#define JUDGE(mine, other) \
	((mine) > limit -> BY_LIMIT : ((!summing || (mine) <= request[tenant[s]] || (mine) + (other) <= DEVICE) -> GRANT : BY_GUARANTEE))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
/* sum.c sum_others: the other tenant's promise is looked up after all slots were read. */
inline judge()
{
	promise = (trust -> promise : (summing && (present || kept[1 - tenant[s]]) -> request[1 - tenant[s]] : 0));
	verdict = JUDGE(used + need, MAX(used_other, promise));
	if
	:: verdict == GRANT ->
		verdict = JUDGE(used + pend + need, MAX(used_other + pend_other, promise));
		if
		:: verdict == BY_GUARANTEE -> low = low_other; verdict = RACE
		:: verdict == BY_LIMIT -> verdict = RACE
		:: else
		fi
	:: else
	fi;
	used_other = 0; pend_other = 0; low_other = NONE; promise = 0; present = 0; summing = 0
}
#else
#define judge() judge_limit()
#endif

/* account.c set_mark: credit is kept only where room was left beside the grant. */
#if EPOCHS
#define NOTE_ROOM room = (verdict == GRANT && used + need < limit)
#define SET_MARK mark[s] = room; room = 0
#else
#define NOTE_ROOM skip
#define SET_MARK skip
#endif

/* sum.c note_shares and bound.c bound_end: what was announced counts as had. */
#if TENANTS > 1
#define NOTE_BOUND(s) \
	if \
	:: FAULT == BASED_LATE && summing && !trust -> others_most[s] = used_other + pend_other; known[s] = KNOWN \
	:: FAULT != BASED_LATE && summing && !trust -> known[s] = KNOWN; \
		others_most[s] = (others_most[s] + used_other + pend_other > DEVICE -> DEVICE + 1 : others_most[s] + used_other + pend_other) \
	:: else \
	fi
#endif

/* Account.c try_grow, after a sum was judged. */
inline judged(s)
{
	NOTE_ROOM;
	FORGET_MAP;
	i = 0; used = 0; pend = 0;
	if
	:: verdict == GRANT -> at = (FAULT == CLEARS_FIRST -> CLEAR : (FAULT == RISEN_LATE -> RISE : COMMIT)); low = NONE
	:: verdict == BY_LIMIT || verdict == BY_GUARANTEE -> at = RETRACT; low = NONE
#if PATIENT
	/* A higher one takes its own back first; the lowest keeps its own. */
	:: verdict == RACE && low < s -> at = RETRACT
	:: verdict == RACE && low > s -> at = WAIT
#else
	/* 50 ms are over: alive but not running, and what it announced counts as charged. */
	:: verdict == RACE -> low = NONE;
		if
		:: FAULT == STOPPED_IGNORED -> verdict = GRANT; at = COMMIT
		:: else -> verdict = BY_LIMIT; at = RETRACT
		fi
	:: verdict == RACE && waits < WAITS -> waits++;
		if
		:: low < s -> at = RETRACT /* with verdict RACE: asks anew */
		:: low > s -> at = TO_SUM /* keeps its own, and looks again for a lower one */
		fi;
		low = NONE
#endif
	fi
}

inline read_pending(s)
{
	SEEN(S_READ_PENDING, i, pending[i])
	if
	:: pending[i] ->
#if TENANTS > 1
		if
		:: SAME(i) -> pend = pend + pending[i]; low = (low == NONE -> i : low)
		:: !SAME(i) && summing -> pend_other = pend_other + pending[i]
		:: else
		fi;
		low_other = (low_other == NONE -> i : low_other)
#else
		pend = pend + pending[i]; low = (low == NONE -> i : low)
#endif
	:: else
	fi
}

inline read_word(s)
{
	SEEN(S_READ_WORD, i, charged[i] * 256 + credit[i])
#if TENANTS > 1
	if
	:: SAME(i) -> used = used + charged[i] + credit[i]
	:: !SAME(i) && summing -> used_other = used_other + charged[i] + credit[i]; present = 1
	:: else
	fi
#else
	used = used + charged[i] + credit[i]
#endif
}

/* sum.c sum_admit, after a sum: a bound that does not grant says nothing. */
inline after_sum(s)
{
#if TENANTS > 1
	NOTE_BOUND(s);
	judge();
	if
	:: trust && verdict != GRANT -> i = 0; used = 0; pend = 0; low = NONE; verdict = 0; trust = 0; at = EXACT
	:: else -> trust = 0; judged(s)
	fi
#else
	judge();
	judged(s)
#endif
}

/* By the bound only the tenant's own slots are read. */
#if TENANTS > 1
#define SKIP_OTHERS(s) \
	do \
	:: i < SLOTS && i != s && trust && !SAME(i) -> i++ \
	:: else -> break \
	od
#define BEGIN_GROW (FAULT == RISEN_FIRST -> RISE : ANNOUNCE)
#define ANNOUNCED (FAULT == RISEN_FIRST || FAULT == RISEN_LATE -> ADMIT : RISE)
#define HAS_RISEN (FAULT == RISEN_FIRST -> ANNOUNCE : (FAULT == RISEN_LATE -> COMMIT : ADMIT))
#else
#define SKIP_OTHERS(s) skip
#define BEGIN_GROW ANNOUNCE
#define ANNOUNCED TO_SUM
#endif

#define NEXT_SLOT(s) \
	i++;         \
	SKIP_OTHERS(s); \
	if           \
	:: i == SLOTS -> after_sum(s) \
	:: else      \
	fi

/* Has the credit been seen to be enough? If not, the rest is asked for. */
#if EPOCHS
#define SHORT(s) seen = 0; was = 0; tagged = 0; at = (fast -> LOCK : BEGIN_GROW); need = (fast -> 0 : n - credit[s])
#define BEGIN_CHARGE fast = 1; at = CHARGE
#define END_GROW(s) if :: !fast -> growing[s] = 0 :: else fi; fast = 1; seen = 0; was = 0; tagged = 0; rules = 0
#define TO_CHARGE ADOPT
#else
#define BEGIN_CHARGE at = CHARGE
#define END_GROW(s) skip
#define TO_CHARGE CHARGE
#endif

/* Account.c grow, after try_grow or retract brought nothing. */
inline not_had(s)
{
	if
	:: verdict == RACE -> verdict = 0; at = TO_CHARGE; need = 0
	:: verdict != RACE && verdict > recovered -> at = SWEEP
	:: else -> CLEAN; at = REFUSED; END_GROW(s)
	fi
}

/* A grant that others took back before it was charged is asked for anew, so often. */
#if STOLEN
#define GRANTED                                                        \
	if                                                             \
	:: stolen < STOLEN -> stolen++; need = 0; verdict = 0; at = TO_CHARGE \
	:: else -> verdict = BY_LIMIT; not_had(s)                      \
	fi
#else
#define GRANTED need = 0; verdict = 0; at = TO_CHARGE
#endif

#ifndef KEEP
#define KEEP(s)                         \
	if                              \
	:: credit[s] = credit[s] + n    \
	:: true                         \
	fi
#endif

#include "thread.pml"
