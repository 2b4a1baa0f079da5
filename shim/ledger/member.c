/*
 * Joining, leaving, forgetting. See member.h.
 */
#include "ledger/member.h"
#include "base/point.h"
#include "ledger/why.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_NS 50000000ull /* the longest that the dead wait for a sweep */
#define SWEEP_SHARE 16	     /* a sweep may take one part in so many of the time */
#define JOIN_PATIENCE_NS 60000000ull
#define JOIN_ATTEMPTS 4

/* Under the slot's locks. */
static void map_slot(const struct segment *segment, uint32_t index, uint32_t tenant, bool member)
{
	uint64_t *word;

	if (!segment->map_words || !segment_has_tenant(segment, tenant))
		return;
	word = segment_map(segment, tenant) + index / 64;
	if (member)
		__atomic_fetch_or(word, 1ull << index % 64, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(word, ~(1ull << index % 64), __ATOMIC_SEQ_CST);
}

/* The one place where a slot is emptied. Both its bytes are the caller's; word before state: a free
 * slot holds nothing. */
static void empty(const struct segment *segment, uint32_t index)
{
	struct cuquota_slot *slot = segment_slot(segment, index);

	tenant_leaving(segment, __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED));
	POINT("member.leaving");
	__atomic_store_n(&slot->pending, 0, __ATOMIC_SEQ_CST);
	TRACE("pending_cleared", index, 0, 0);
	POINT("member.pending_cleared");
	__atomic_store_n(&slot->word, 0, __ATOMIC_SEQ_CST);
	TRACE("word_cleared", index, 0, 0);
	POINT("member.word_cleared");
	__atomic_store_n(&slot->held, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->state, CUQUOTA_FREE, __ATOMIC_SEQ_CST);
	TRACE("freed", index, 0, 0);
	POINT("member.freed");
	map_slot(segment, index, __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED), false);
	POINT("member.unmapped");
}

/* Both its locks are the caller's. Another may have forgotten it, and a joiner lived and died in
 * it, since it was looked at. */
static bool forget_claimed(const struct segment *segment, uint32_t index)
{
	if (__atomic_load_n(&segment_slot(segment, index)->state, __ATOMIC_SEQ_CST) != CUQUOTA_USED)
		return false;
	empty(segment, index);
	__atomic_store_n(&segment->header->forgotten_ns, segment_now_ns(), __ATOMIC_RELAXED);
	POINT("member.forgotten");
	return true;
}

static bool forget(const struct segment *segment, struct life_file *file, uint32_t index)
{
	bool forgotten;

	if (life_claim(segment, file, index))
		return false;
	POINT("member.claimed");
	forgotten = forget_claimed(segment, index);
	life_unclaim(file, index);
	POINT("member.unclaimed");
	return forgotten;
}

static uint32_t sweep(const struct segment *segment, uint64_t begun)
{
	struct cuquota_header *header = segment->header;
	struct life_file file = LIFE_FILE_CLOSED;
	uint32_t high = segment_high(segment), count = 0;
	uint64_t done;

	POINT("member.sweeping");
	for (uint32_t i = 0; i < high; i++) {
		if (__atomic_load_n(&segment_slot(segment, i)->state, __ATOMIC_SEQ_CST) !=
		    CUQUOTA_USED)
			continue;
		if (life_test(segment, &file, i) == LIFE_DEAD)
			count += forget(segment, &file, i);
	}
	life_close(&file);
	POINT("member.all_tested");
	__atomic_store_n(&header->sweep_cost_ns, segment_now_ns() - begun, __ATOMIC_RELAXED);
	done = __atomic_load_n(&header->swept_done_ns, __ATOMIC_SEQ_CST);
	while (done < begun &&
	       !__atomic_compare_exchange_n(&header->swept_done_ns, &done, begun, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	POINT("member.swept");
	return count;
}

/* How long after the begin of the last sweep the next may begin. */
static uint64_t sweep_gap(const struct cuquota_header *header)
{
	uint64_t cost = __atomic_load_n(&header->sweep_cost_ns, __ATOMIC_RELAXED);

	return cost < SWEEP_NS / SWEEP_SHARE ? cost * SWEEP_SHARE : SWEEP_NS;
}

/* Become the sweeper if the last sweep began `gap` ago. A time to come is of another boot and never
 * holds us up. */
static bool begin_sweep(struct cuquota_header *header, uint64_t gap, uint64_t *now)
{
	uint64_t begun = __atomic_load_n(&header->swept_ns, __ATOMIC_SEQ_CST);

	*now = segment_now_ns();
	if (begun <= *now && *now - begun < gap)
		return false;
	return __atomic_compare_exchange_n(&header->swept_ns, &begun, *now, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

uint32_t member_sweep_now(const struct segment *segment)
{
	uint64_t now;

	if (!segment->writable || !begin_sweep(segment->header, SWEEP_NS, &now))
		return 0;
	return sweep(segment, now);
}

uint32_t member_sweep(const struct segment *segment, uint64_t fresh_ns, uint64_t until_ns)
{
	struct cuquota_header *header = segment->header;
	const struct timespec nap = {0, 200000};
	uint64_t now = segment_now_ns();

	if (!segment->writable)
		return 0;
	/* One that another began in time may be stopped for ever: then ours is due after the
	 * gap. */
	for (;;) {
		uint64_t done = __atomic_load_n(&header->swept_done_ns, __ATOMIC_SEQ_CST);

		if (done >= fresh_ns && done <= now)
			return 0;
		if (begin_sweep(header, sweep_gap(header), &now))
			return sweep(segment, now);
		if (now >= until_ns)
			return 0;
		nanosleep(&nap, NULL);
	}
}

bool member_forget_dead(const struct segment *segment, uint32_t slot)
{
	struct life_file file = LIFE_FILE_CLOSED;
	bool forgotten = segment->writable && life_test(segment, &file, slot) == LIFE_DEAD &&
			 forget(segment, &file, slot);

	life_close(&file);
	return forgotten;
}

static void describe(struct cuquota_detail *detail)
{
	struct stat stat_now;
	ssize_t length;
	int file;

	memset(detail, 0, sizeof(*detail));
	detail->pid = getpid();
	detail->joined_ns = segment_now_ns();
	if (!stat("/proc/self/ns/pid", &stat_now))
		detail->pid_namespace = (uint64_t)stat_now.st_ino;
	file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	length = read(file, detail->command, sizeof(detail->command) - 1);
	detail->command[length > 0 ? length - 1 : 0] = '\0';
	close(file);
}

static void raise_high(const struct segment *segment, uint32_t least)
{
	uint32_t *high = &segment->header->members_high;
	uint32_t now = __atomic_load_n(high, __ATOMIC_SEQ_CST);

	while (now < least && !__atomic_compare_exchange_n(high, &now, least, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* Take a free slot with both its locks. Its index, or -ENFILE, or -errno. */
static int take_slot(const struct segment *segment, int reserved, struct life_lock *life)
{
	for (uint32_t i = 0; i < segment->member_count; i++) {
		int rc;

		if (__atomic_load_n(&segment_slot(segment, i)->state, __ATOMIC_SEQ_CST) !=
		    CUQUOTA_FREE)
			continue;
		POINT("member.looked");
		rc = life_take(segment, i, reserved, life);
		if (!rc) {
			forget_claimed(segment, i);
			return (int)i;
		}
		if (rc != -EAGAIN)
			return rc;
	}
	return -ENFILE;
}

/* The slot is ours by its locks; nobody reads it before state says so. Zeroed again: its last owner
 * may have died in a join that never published. */
static void publish(const struct segment *segment, uint32_t index, uint32_t tenant,
		    struct member *member)
{
	struct cuquota_slot *slot = segment_slot(segment, index);

	POINT("member.taken");
	__atomic_store_n(&slot->pending, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->word, 0, __ATOMIC_SEQ_CST);
	POINT("member.zeroed");
	describe(segment_detail(segment, index));
	member->gen = __atomic_add_fetch(&slot->gen, 1, __ATOMIC_SEQ_CST);
	POINT("member.gen_raised");
	/* Left by one who died while it freed the slot. */
	map_slot(segment, index, __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED), false);
	__atomic_store_n(&slot->tenant, tenant, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->held, CUQUOTA_HELD(tenant, 0), __ATOMIC_RELAXED);
	POINT("member.tenant_stored");
	map_slot(segment, index, tenant, true);
	POINT("member.mapped");
	raise_high(segment, index + 1);
	POINT("member.high_raised");
	__atomic_store_n(&slot->state, CUQUOTA_USED, __ATOMIC_SEQ_CST);
	TRACE("published", index, 0, 0);
	POINT("member.published");
	member->slot = index;
	member->tenant = tenant;
	member->epoch = 0;
	member->mark = 0;
	member->growing = 0;
	member->peak = 0;
	member->place = slot;
	member->rules = &segment->header->epoch;
	member->checked_ns = segment_now_ns();
}

/* What the dead have left shall not stand in a newcomer's way. */
static void sweep_fresh(const struct segment *segment)
{
	uint64_t now = segment_now_ns();

	member_sweep(segment, now, now + JOIN_PATIENCE_NS);
}

/* Does the tenant have other rules than it would get if its members were gone? */
static bool differs(const struct tenant_wish *wish, const struct tenant_outcome *outcome)
{
	return !outcome->administered &&
	       (wish->limit != outcome->limit || wish->request != outcome->request);
}

int member_join(struct member *member, const struct segment *segment,
		const struct tenant_wish *wish, int reserved, struct tenant_outcome *outcome,
		char why[SEGMENT_WHY])
{
	struct member joined = {.life = {.hold = -1}};
	int tenant = -EAGAIN, slot = -EAGAIN, settled, rc = -EAGAIN;

	member_sweep_now(segment);
	for (int attempt = 0; attempt < JOIN_ATTEMPTS && rc; attempt++) {
		tenant = tenant_settle(segment, wish, outcome, &settled);
		/* Is the tenant whose limit stands in the way, or the table's fullness, only the
		 * dead's? */
		if (!attempt && ((tenant >= 0 && differs(wish, outcome)) || tenant == -ENFILE ||
				 tenant == -ENOSPC)) {
			life_settled(settled);
			sweep_fresh(segment);
			continue;
		}
		rc = tenant < 0 ? tenant : -EAGAIN;
		if (tenant < 0)
			break;
		POINT("member.settled");
		slot = take_slot(segment, reserved, &joined.life);
		if (slot == -ENFILE && !attempt) {
			life_settled(settled);
			sweep_fresh(segment);
			continue;
		}
		rc = slot < 0 ? slot : 0;
		if (!rc) {
			/* Spent: if this slot is given up, its number may be another's by the next
			 * try. */
			reserved = -1;
			publish(segment, (uint32_t)slot, (uint32_t)tenant, &joined);
			joined.segment = segment;
			rc = tenant_entered(segment, (uint32_t)tenant, wish, settled >= 0, outcome);
			if (rc)
				member_leave(&joined);
		}
		life_settled(settled);
		POINT("member.unsettled");
		if (rc && rc != -ESTALE)
			break;
	}
	if (reserved >= 0)
		close(reserved);
	if (rc) {
		why_join(segment, wish, outcome, rc, why);
		return rc;
	}
	joined.segment = NULL;
	*member = joined;
	__atomic_store_n(&member->segment, segment, __ATOMIC_RELEASE);
	return 0;
}

void member_leave(struct member *member)
{
	const struct segment *segment = member->segment;
	struct life_file file = LIFE_FILE_CLOSED;
	bool own;

	if (!segment)
		return;
	/*
	 * Only a place that is still ours is emptied: after a loss another may live in it, or be
	 * about to forget it. Nor is the page unmapped then: an application that unmapped it may
	 * have put something else there.
	 */
	own = member_owns(member) && life_test(segment, &file, member->slot) == LIFE_ALIVE;
	life_close(&file);
	__atomic_store_n(&member->segment, NULL, __ATOMIC_RELEASE);
	if (own)
		empty(segment, member->slot);
	else
		member->life.page = NULL;
	life_release(&member->life);
	POINT("member.left");
}

bool member_is_current(const struct member *member)
{
	struct life_file file = LIFE_FILE_CLOSED;
	bool alive;

	if (!member_owns(member))
		return false;
	alive = life_test(member->segment, &file, member->slot) == LIFE_ALIVE;
	life_close(&file);
	return alive && segment_is_linked(member->segment);
}

int member_revive(struct member *member)
{
	struct life_file file = LIFE_FILE_CLOSED;
	int rc = 0;

	if (!member_owns(member) || !segment_is_linked(member->segment))
		return -ESTALE;
	if (life_test(member->segment, &file, member->slot) != LIFE_ALIVE)
		rc = life_revive(member->segment, member->slot, &member->life);
	life_close(&file);
	/* A forgetter that came first has emptied the slot by now: the byte is free again, but the
	 * place is lost. */
	return rc || !member_owns(member) ? -ESTALE : 0;
}
