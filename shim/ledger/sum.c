/*
 * Sums over the slots, and the admission rule. See sum.h; the figures that are shown come from here
 * too.
 */
#include "ledger/sum.h"
#include "base/point.h"
#include "ledger/account.h"

#include <errno.h>
#include <string.h>

#define TENANTS_SUMMED CUQUOTA_TENANTS

/* What one slot adds. Pending before word: an announcement that was committed in between is counted
 * twice, never missed. */
struct reading {
	uint32_t tenant, pending;
	uint64_t word;
};

static inline __attribute__((always_inline)) bool read_slot(const struct segment_walk *walk,
							    struct reading *reading)
{
	const struct cuquota_slot *const slot = walk->slot;

	if (__atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) != CUQUOTA_USED)
		return false;
	reading->tenant = __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED);
	reading->pending = CUQUOTA_PENDING(__atomic_load_n(&slot->pending, __ATOMIC_SEQ_CST));
	TRACE("read_pending", walk->index, reading->pending, 0);
	POINT("sum.between");
	reading->word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST);
	TRACE("read_word", walk->index, CUQUOTA_CHARGED(reading->word),
	      CUQUOTA_CREDIT(reading->word));
	return true;
}

static uint64_t use_of(uint64_t word)
{
	return (uint64_t)CUQUOTA_CHARGED(word) + CUQUOTA_CREDIT(word);
}

/*
 * What each tenant has, units. Those made meanwhile, and those beyond of a later release's larger
 * table, share the last entry. Of what each of them uses and is promised not the larger but both
 * are counted, which errs upwards.
 */
struct shares {
	uint32_t last;
	struct share {
		uint64_t used, pending;
		bool present;
	} of[TENANTS_SUMMED + 1];
};

static void shares_clear(struct shares *shares, const struct segment *segment)
{
	const uint32_t high = segment_tenants_high(segment);

	shares->last = high < TENANTS_SUMMED ? high : TENANTS_SUMMED;
	memset(shares->of, 0, (shares->last + 1) * sizeof(*shares->of));
}

static struct share *share_of(struct shares *shares, uint32_t tenant)
{
	return &shares->of[tenant < shares->last ? tenant : shares->last];
}

static void add_other(struct sum *sum, uint64_t used, uint64_t pending, uint64_t request)
{
	sum->others_bytes =
		tenant_add(sum->others_bytes, sum_larger(used * CUQUOTA_UNIT, request));
	sum->others_pending_bytes = tenant_add(
		sum->others_pending_bytes, sum_larger((used + pending) * CUQUOTA_UNIT, request));
}

static void sum_others(const struct segment *segment, uint32_t tenant, struct shares *shares,
		       struct sum *sum)
{
	uint32_t high = segment_tenants_high(segment);
	uint64_t now = 0;

	for (uint32_t i = 0; i < high; i++) {
		const struct cuquota_tenant *record = segment_tenant(segment, i);
		const struct share *const share = share_of(shares, i);
		uint64_t request = 0;

		if (i == tenant)
			continue;
		if (__atomic_load_n(&record->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED)
			request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
		/* Mostly somebody is there, and no clock is needed. */
		if (request && !share->present) {
			now = now ? now : segment_now_ns();
			request = tenant_is_kept(segment, i, now) ? request : 0;
		}
		if (i < shares->last)
			add_other(sum, share->used, share->pending, request);
		else
			add_other(sum, 0, 0, request);
	}
	add_other(sum, shares->of[shares->last].used, shares->of[shares->last].pending, 0);
}

/* Each slot was read after the refresh began. */
static void note_shares(const struct bound_refresh *refresh, struct shares *shares)
{
	if (!refresh->bound)
		return;
	for (uint32_t i = 0; i < refresh->tenants; i++) {
		const struct share *const share = share_of(shares, i);

		bound_note(refresh, i, share->used + share->pending);
	}
	bound_end(refresh);
}

/* Where nobody has a request. In locals: what others could see the compiler would store before each
 * load. */
static void sum_tenant(const struct segment *segment, uint32_t tenant, uint32_t self,
		       struct sum *sum)
{
	struct segment_walk walk = segment_walk(segment, tenant);
	uint32_t members = 0, lowest = UINT32_MAX;
	uint64_t used = 0, pending = 0;

	while (segment_step_far(&walk)) {
		do {
			struct reading reading;

			segment_step_near(&walk);
			if (!read_slot(&walk, &reading) || reading.tenant != tenant)
				continue;
			members++;
			used += use_of(reading.word);
			if (__builtin_expect(reading.pending != 0, 0) && walk.index != self) {
				pending += reading.pending;
				lowest = walk.index < lowest ? walk.index : lowest;
			}
		} while (walk.bits);
	}
	sum->members = members;
	sum->used = used;
	sum->pending = pending;
	sum->lowest_same = sum->lowest_any = lowest;
}

/* Where somebody has one. */
static void sum_device(const struct segment *segment, uint32_t tenant, uint32_t self,
		       struct bound *bound, struct sum *sum)
{
	const struct bound_refresh refresh = bound_begin(bound, segment);
	struct segment_walk walk = segment_walk(segment, SEGMENT_ALL);
	struct shares shares;

	shares_clear(&shares, segment);
	while (segment_step(&walk)) {
		struct reading reading;

		if (!read_slot(&walk, &reading) || !segment_has_tenant(segment, reading.tenant))
			continue;
		if (walk.index == self)
			reading.pending = 0;
		if (reading.pending && sum->lowest_any == UINT32_MAX)
			sum->lowest_any = walk.index;
		if (reading.tenant == tenant) {
			sum->members++;
			sum->used += use_of(reading.word);
			sum->pending += reading.pending;
			if (reading.pending && sum->lowest_same == UINT32_MAX)
				sum->lowest_same = walk.index;
		} else {
			struct share *const share = share_of(&shares, reading.tenant);

			share->used += use_of(reading.word);
			share->pending += reading.pending;
			share->present = true;
		}
	}
	sum_others(segment, tenant, &shares, sum);
	note_shares(&refresh, &shares);
}

static void sum_begin(const struct segment *segment, uint32_t tenant, struct sum *sum)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);

	sum->limit = __atomic_load_n(&record->limit, __ATOMIC_SEQ_CST);
	sum->request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
	sum->device_bytes = segment->header->device_bytes;
	sum->requests = __atomic_load_n(&segment->header->requests, __ATOMIC_SEQ_CST);
	/* One by one: to clear it whole costs more than all the rest. */
	sum->members = 0;
	sum->charged = sum->used = sum->pending = 0;
	sum->others_bytes = sum->others_pending_bytes = 0;
	sum->lowest_same = sum->lowest_any = UINT32_MAX;
}

void sum_take(const struct segment *segment, uint32_t tenant, uint32_t self, struct bound *bound,
	      struct sum *sum)
{
	sum_begin(segment, tenant, sum);
	if (__builtin_expect(sum->requests, 0))
		sum_device(segment, tenant, self, bound, sum);
	else
		sum_tenant(segment, tenant, self, sum);
}

static enum verdict judge(const struct sum *sum, uint64_t used, uint64_t others_bytes)
{
	if (used > sum->limit / CUQUOTA_UNIT)
		return VERDICT_LIMIT;
	if (!sum->requests || used * CUQUOTA_UNIT <= sum->request)
		return VERDICT_GRANT;
	if (others_bytes > sum->device_bytes ||
	    used * CUQUOTA_UNIT > sum->device_bytes - others_bytes)
		return VERDICT_GUARANTEE;
	return VERDICT_GRANT;
}

enum verdict sum_judge(struct sum *sum, uint32_t units, uint32_t *lowest)
{
	enum verdict certain = judge(sum, sum->used + units, sum->others_bytes);

	sum->cause_with_pending =
		judge(sum, sum->used + sum->pending + units, sum->others_pending_bytes);
	if (certain != VERDICT_GRANT)
		return certain;
	if (sum->cause_with_pending == VERDICT_GRANT)
		return VERDICT_GRANT;
	*lowest = sum->cause_with_pending == VERDICT_LIMIT ? sum->lowest_same : sum->lowest_any;
	return VERDICT_RACE;
}

/* Would the exact sum, which has no less room than this and no more than beside nobody, come to the
 * same? */
static bool is_ample(const struct sum *sum, uint32_t units)
{
	return sum_mark(sum, sum_room(sum), units) ==
	       sum_mark(sum, sum_room_beside(sum, sum->used, 0), units);
}

enum verdict sum_admit(const struct segment *segment, uint32_t tenant, uint32_t self,
		       struct bound *bound, uint32_t units, struct sum *sum, uint32_t *lowest)
{
	sum_begin(segment, tenant, sum);
	if (sum->requests && bound_others(bound, segment, tenant, &sum->others_bytes)) {
		sum->others_pending_bytes = sum->others_bytes;
		sum_tenant(segment, tenant, self, sum);
		if (sum_judge(sum, units, lowest) == VERDICT_GRANT && is_ample(sum, units))
			return VERDICT_GRANT;
	}
	sum_take(segment, tenant, self, bound, sum);
	return sum_judge(sum, units, lowest);
}

/* As sum_take, with idle credit counted as free, since whoever needs it may take it; so are
 * announcements, and both stand with what is pending. */
static void sum_charged(const struct segment *segment, uint32_t tenant, struct bound *bound,
			struct sum *sum, uint64_t *others)
{
	struct bound_refresh refresh = {NULL, 0};
	struct segment_walk walk;
	struct shares shares;

	sum_begin(segment, tenant, sum);
	if (sum->requests) {
		refresh = bound_begin(bound, segment);
		shares_clear(&shares, segment);
	}
	*others = 0;
	walk = segment_walk(segment, sum->requests ? SEGMENT_ALL : tenant);
	while (segment_step(&walk)) {
		struct reading reading;

		if (!read_slot(&walk, &reading) || !segment_has_tenant(segment, reading.tenant))
			continue;
		if (reading.tenant == tenant) {
			sum->members++;
			sum->charged += CUQUOTA_CHARGED(reading.word);
			sum->used += use_of(reading.word);
		} else if (sum->requests) {
			struct share *const share = share_of(&shares, reading.tenant);

			*others += CUQUOTA_CHARGED(reading.word);
			share->used += CUQUOTA_CHARGED(reading.word);
			share->pending += CUQUOTA_CREDIT(reading.word) + (uint64_t)reading.pending;
			share->present = true;
		}
	}
	if (!sum->requests)
		return;
	sum_others(segment, tenant, &shares, sum);
	note_shares(&refresh, &shares);
}

static int show(const struct segment *segment, uint32_t tenant, struct bound *bound,
		struct account_use *use)
{
	uint64_t others;
	struct sum sum;

	memset(use, 0, sizeof(*use));
	if (!segment_has_tenant(segment, tenant))
		return -ENOENT;
	sum_charged(segment, tenant, bound, &sum, &others);
	use->charged = sum.charged * CUQUOTA_UNIT;
	use->credit = (sum.used - sum.charged) * CUQUOTA_UNIT;
	use->limit = sum.limit;
	use->request = sum.request;
	use->members = sum.members;
	use->free = sum_room_beside(&sum, sum.charged, sum.others_bytes);
	sum.limit = CUQUOTA_NONE;
	use->beside = sum.requests ? sum_room_beside(&sum, sum.charged, sum.others_bytes)
				   : CUQUOTA_NONE;
	use->lent = sum_lent(&sum, use->charged, others * CUQUOTA_UNIT);
	return 0;
}

int account_use(const struct segment *segment, uint32_t tenant, struct account_use *use)
{
	return show(segment, tenant, NULL, use);
}

int account_use_own(struct member *member, struct account_use *use)
{
	return show(member->segment, member->tenant, &member->bound, use);
}

uint32_t account_room(const struct member *member)
{
	struct account_use use;
	uint64_t units;

	if (account_use(member->segment, member->tenant, &use))
		return 0;
	units = use.free / CUQUOTA_UNIT;
	return units < CUQUOTA_WAITED ? (uint32_t)units : CUQUOTA_WAITED - 1;
}

/* FNV-1a over whole values: a change anywhere changes it, but for chance. */
static uint64_t mix(uint64_t print, uint64_t value)
{
	return (print ^ value) * 0x100000001b3ull;
}

void account_watch(const struct member *member, struct account_watch *watch)
{
	const struct segment *const segment = member->segment;

	memset(watch, 0, sizeof(*watch));
	watch->print = 0xcbf29ce484222325ull;
	for (struct segment_walk walk = segment_walk(segment, SEGMENT_ALL);
	     segment_step(&walk);) {
		struct reading reading;

		if (!read_slot(&walk, &reading) || !segment_has_tenant(segment, reading.tenant))
			continue;
		watch->charged += (uint64_t)CUQUOTA_CHARGED(reading.word) * CUQUOTA_UNIT;
		if (walk.index == member->slot)
			continue;
		watch->others += (uint64_t)CUQUOTA_CHARGED(reading.word) * CUQUOTA_UNIT;
		watch->print =
			mix(mix(mix(watch->print, walk.index), reading.word), reading.pending);
		watch->print = mix(watch->print,
				   __atomic_load_n(&walk.slot->gen, __ATOMIC_RELAXED));
	}
}

bool account_undisturbed(const struct member *member, const struct account_watch *watch)
{
	struct account_watch now;

	account_watch(member, &now);
	return now.print == watch->print && now.others == watch->others;
}
