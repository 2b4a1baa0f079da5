/*
 * Charge, refund, grow. See account.h, and include/cuquota/ledger.h for the protocol and why it
 * holds.
 */
#include "ledger/account.h"
#include "base/point.h"
#include "ledger/sum.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_ONCE_NS 1000000ull	 /* one futex wait: a wake that was missed costs this much */
#define WAIT_ALL_NS 50000000ull	 /* all waits of a grow for another, then that one is judged */
#define RECOVER_NS 58000000ull	 /* the latest that a refusal is ready, from the grow's begin */
#define SUSPICIOUS_NS 2000000ull /* no running process keeps an announcement so long */
#define STOLEN_OFTEN 10000u	 /* never seen; ends a grow that others starve */

static void wait_change(uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec limit = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void wake_all(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* One thread of a process grows at a time. The word lies in the handle, which a forked child sees
 * wiped, so free. */
static void lock_growing(uint32_t *lock)
{
	uint32_t state = 0;

	if (__atomic_compare_exchange_n(lock, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		wait_change(lock, 2, WAIT_ONCE_NS);
}

static void unlock_growing(uint32_t *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		wake_all(lock);
}

void account_note_peak(struct member *member, uint32_t charged)
{
	struct cuquota_detail *detail = member_detail(member);

	__atomic_store_n(&member->peak, charged, __ATOMIC_RELAXED);
	if (charged > __atomic_load_n(&detail->peak, __ATOMIC_RELAXED))
		__atomic_store_n(&detail->peak, charged, __ATOMIC_RELAXED);
}

/* Nobody but the owner raises; this only ever lowers. */
static void take_credit(struct cuquota_slot *slot, uint32_t tags)
{
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST), next;

	do {
		if (!CUQUOTA_CREDIT(word) && !tags)
			return;
		next = CUQUOTA_WORD(CUQUOTA_CHARGED(word), 0, CUQUOTA_TAG(word) + tags);
	} while (!__atomic_compare_exchange_n(&slot->word, &word, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

static void take_all(const struct segment *segment, uint32_t tenant, uint32_t except, uint32_t tags)
{
	for (struct segment_walk walk = segment_walk(segment, tenant);
	     segment_step_member(&walk, tenant);) {
		if (walk.index == except)
			continue;
		take_credit(walk.slot, tags);
		TRACE("taken", walk.index, 0, 0);
		POINT("account.credit_taken");
	}
}

void account_void_credit(const struct segment *segment, uint32_t tenant)
{
	take_all(segment, tenant, UINT32_MAX, 1);
}

static void announce(const struct member *member, uint32_t units)
{
	struct cuquota_slot *const slot = member_slot(member);

	POINT("account.announcing");
	__atomic_store_n(&slot->pending, units, __ATOMIC_SEQ_CST);
	TRACE("announced", TRACE_OWN, units, 0);
	POINT("account.announced");
	if (!__atomic_load_n(&member->segment->header->requests, __ATOMIC_SEQ_CST))
		return;
	bound_rise(member->segment, member->tenant, units);
	POINT("account.risen");
}

static void retract(struct cuquota_slot *slot)
{
	POINT("account.retracting");
	if (__atomic_exchange_n(&slot->pending, 0, __ATOMIC_SEQ_CST) & CUQUOTA_WAITED)
		wake_all(&slot->pending);
	TRACE("retracted", TRACE_OWN, 0, 0);
	POINT("account.retracted");
}

/* Until the announcement of `slot` changes, a little while at most. */
static void wait_for(struct cuquota_slot *slot)
{
	uint32_t pending = __atomic_load_n(&slot->pending, __ATOMIC_SEQ_CST);

	if (!CUQUOTA_PENDING(pending))
		return;
	if (!(pending & CUQUOTA_WAITED) &&
	    !__atomic_compare_exchange_n(&slot->pending, &pending, pending | CUQUOTA_WAITED, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	POINT("account.waiting");
	wait_change(&slot->pending, pending | CUQUOTA_WAITED, WAIT_ONCE_NS);
}

/*
 * The same within a grow that began at `begin`. What takes longer than running processes need is a
 * death or a stop: the dead are forgotten without waiting for the judgement, and the sweep that a
 * refusal wants is made meanwhile.
 *
 * It looks at files, as recover does, and nothing else in a grow is a point where a thread may be
 * cancelled: one that ended inside would leave the lock and the announcement behind.
 */
static void stand_by(const struct member *member, uint32_t other, uint64_t begin)
{
	uint64_t now;
	int cancel;

	wait_for(segment_slot(member->segment, other));
	now = segment_now_ns();
	if (now - begin < SUSPICIOUS_NS)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!member_forget_dead(member->segment, other))
		member_sweep(member->segment, begin, now);
	pthread_setcancelstate(cancel, NULL);
}

static void commit(struct cuquota_slot *slot, uint32_t units)
{
	POINT("account.committing");
	/* Added to credit alone: what a stranger takes meanwhile is not disturbed. */
	__atomic_add_fetch(&slot->word, CUQUOTA_WORD(0, units, 0), __ATOMIC_SEQ_CST);
	TRACE("committed", TRACE_OWN, units, 0);
	POINT("account.committed");
}

/* The credit of an older epoch is dropped before the new epoch is the handle's: it is never charged
 * under the new one. */
static void adopt_epoch(struct member *member)
{
	uint32_t epoch = __atomic_load_n(&member->segment->header->epoch, __ATOMIC_SEQ_CST);

	if (epoch == member->epoch)
		return;
	__atomic_store_n(&member->mark, 0, __ATOMIC_RELAXED);
	take_credit(member_slot(member), 0);
	POINT("account.credit_dropped");
	__atomic_store_n(&member->epoch, epoch, __ATOMIC_RELAXED);
}

/* When a grow first had to wait. The clock is not read before: most need not. A sweep that begins
 * after that began after the request as well. */
static uint64_t since(uint64_t *begun)
{
	if (!*begun)
		*begun = segment_now_ns();
	return *begun;
}

/*
 * One try: announce, sum, and commit if the rules hold with everybody's announcements.
 * VERDICT_GRANT when credit was raised. Else whether the rules fail for certain, or only
 * announcements stand in the way, which were then waited for.
 */
static enum verdict try_grow(struct member *member, uint32_t units, uint64_t *begun,
			     struct sum *sum)
{
	struct cuquota_slot *slot = member_slot(member);
	enum verdict verdict;

	announce(member, units);
	for (;;) {
		uint32_t lowest;
		uint64_t begin;

		verdict = sum_admit(member->segment, member->tenant, member->slot, &member->bound,
				    units, sum, &lowest);
		POINT("account.summed");
		if (verdict == VERDICT_GRANT) {
			commit(slot, units);
			__atomic_store_n(&member->mark, sum_mark(sum, sum_room(sum), units),
					 __ATOMIC_RELAXED);
			break;
		}
		if (verdict != VERDICT_RACE)
			break;
		begin = since(begun);
		if (segment_now_ns() - begin >= WAIT_ALL_NS) {
			/* Alive but not running: what it announced counts as charged. */
			verdict = sum->cause_with_pending;
			break;
		}
		/* Of those in each other's way the lowest stays, and looks again for a lower one
		 * that appeared. */
		if (lowest < member->slot) {
			retract(slot);
			stand_by(member, lowest, begin);
			return VERDICT_RACE;
		}
		stand_by(member, lowest, begin);
	}
	retract(slot);
	return verdict;
}

void account_explain(const struct member *member, const struct sum *sum, uint32_t units,
		     enum verdict verdict, struct refusal *refusal)
{
	const struct segment *segment = member->segment;
	uint32_t top = UINT32_MAX;

	if (!refusal)
		return;
	memset(refusal, 0, sizeof(*refusal));
	refusal->cause = verdict == VERDICT_GUARANTEE ? REFUSED_GUARANTEE : REFUSED_LIMIT;
	refusal->asked = (uint64_t)units * CUQUOTA_UNIT;
	refusal->limit = sum->limit;
	refusal->room = sum_room(sum);
	for (struct segment_walk walk = segment_walk(segment, member->tenant);
	     segment_step_member(&walk, member->tenant);) {
		const uint64_t word = __atomic_load_n(&walk.slot->word, __ATOMIC_RELAXED);

		refusal->used += (uint64_t)CUQUOTA_CHARGED(word) * CUQUOTA_UNIT;
		if (top == UINT32_MAX ||
		    (uint64_t)CUQUOTA_CHARGED(word) * CUQUOTA_UNIT > refusal->top_used) {
			refusal->top_used = (uint64_t)CUQUOTA_CHARGED(word) * CUQUOTA_UNIT;
			top = walk.index;
		}
	}
	if (top != UINT32_MAX) {
		const struct cuquota_detail *detail = segment_detail(segment, top);

		refusal->top_pid = detail->pid;
		memcpy(refusal->top_command, detail->command, sizeof(refusal->top_command) - 1);
	}
}

/* Once, before a refusal: what the dead held, and what others hold idle. */
static void recover(struct member *member, enum verdict verdict, uint64_t begin)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	member_sweep(member->segment, begin, begin + RECOVER_NS);
	pthread_setcancelstate(cancel, NULL);
	take_all(member->segment, verdict == VERDICT_LIMIT ? member->tenant : SEGMENT_ALL,
		 member->slot, 0);
	POINT("account.recovered");
}

static int grow(struct member *member, uint32_t units, struct refusal *refusal)
{
	uint64_t begin = 0;
	enum verdict recovered = VERDICT_GRANT;
	unsigned stolen = 0;
	struct sum sum;

	for (;;) {
		enum verdict verdict;
		uint32_t credit;
		uint64_t word;

		/* What is granted in a slot that was forgotten counts for nobody. */
		if (!member_owns(member))
			return -ESTALE;
		adopt_epoch(member);
		if (account_charge_credit(member, units))
			return 0;
		word = __atomic_load_n(&member_slot(member)->word, __ATOMIC_SEQ_CST);
		credit = CUQUOTA_CREDIT(word);
		if (credit >= units)
			continue;
		if (units > CUQUOTA_COUNT_MAX - CUQUOTA_CHARGED(word)) {
			/* No device has so much; the counts could not hold it. */
			sum_take(member->segment, member->tenant, member->slot, NULL, &sum);
			account_explain(member, &sum, units, VERDICT_LIMIT, refusal);
			return -EDQUOT;
		}
		verdict = try_grow(member, units - credit, &begin, &sum);
		/* A grant that others took back before it was charged, as a refused one may, is
		 * asked for again. */
		if (verdict == VERDICT_RACE ||
		    (verdict == VERDICT_GRANT && ++stolen < STOLEN_OFTEN))
			continue;
		if (verdict == VERDICT_GRANT)
			verdict = VERDICT_LIMIT;
		if (verdict > recovered) {
			recover(member, verdict, since(&begin));
			recovered = verdict;
			continue;
		}
		account_explain(member, &sum, units, verdict, refusal);
		return -EDQUOT;
	}
}

int account_grow(struct member *member, uint32_t units, struct refusal *refusal)
{
	int rc, kept = errno;

	if (!units)
		return 0;
	lock_growing(&member->growing);
	rc = grow(member, units, refusal);
	unlock_growing(&member->growing);
	errno = kept;
	return rc;
}

void account_refund(struct member *member, uint32_t units)
{
	struct cuquota_slot *slot = member_slot(member);
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST), next;
	uint32_t keep;

	do {
		uint32_t charged = CUQUOTA_CHARGED(word), credit = CUQUOTA_CREDIT(word), mark = 0;

		/* Never below nothing: a scribbled ledger must not make a tenant rich. */
		if (units > charged)
			units = charged;
		if (__atomic_load_n(member->rules, __ATOMIC_SEQ_CST) ==
		    __atomic_load_n(&member->epoch, __ATOMIC_RELAXED))
			mark = __atomic_load_n(&member->mark, __ATOMIC_RELAXED);
		/* More than the mark may just have been granted to another thread: that is left
		 * alone. */
		keep = (uint64_t)credit + units <= mark ? credit + units
		       : credit > mark			? credit
							: mark;
		next = CUQUOTA_WORD(charged - units, keep, CUQUOTA_TAG(word));
		POINT("account.refunding");
	} while (!__atomic_compare_exchange_n(&slot->word, &word, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	TRACE("refunded", member->slot, units, keep);
	POINT("account.refunded");
}

void account_force(struct member *member, uint32_t units)
{
	struct cuquota_slot *slot = member_slot(member);
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST), next;

	POINT("account.forcing");
	do {
		const uint64_t charged = (uint64_t)CUQUOTA_CHARGED(word) + units;
		const uint64_t most = CUQUOTA_COUNT_MAX - CUQUOTA_CREDIT(word);

		next = CUQUOTA_WORD(charged < most ? charged : most, CUQUOTA_CREDIT(word),
				    CUQUOTA_TAG(word));
	} while (!__atomic_compare_exchange_n(&slot->word, &word, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	POINT("account.forced");
	/* Nothing announced it, so after the word: who notes a bound in between counts it twice,
	 * and who noted one before knows of it now. */
	bound_rise(member->segment, member->tenant, units);
	account_note_peak(member, CUQUOTA_CHARGED(next));
}
