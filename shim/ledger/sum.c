/*
 * Sums over the slots, and the admission rule. See sum.h; the figures that are shown come from here
 * too.
 */
#include "ledger/sum.h"
#include "base/point.h"
#include "ledger/account.h"

#include <errno.h>
#include <string.h>

/*
 * Tenants beyond, of a later release's larger table, share one entry. Of what each of them uses and
 * is promised not the larger but both are counted, which errs upwards.
 */
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

/* What each tenant has, units. */
struct shares {
	uint64_t used[TENANTS_SUMMED + 1], pending[TENANTS_SUMMED + 1];
	bool present[TENANTS_SUMMED + 1];
};

static uint32_t entry_of(uint32_t tenant)
{
	return tenant < TENANTS_SUMMED ? tenant : TENANTS_SUMMED;
}

static void add_other(struct sum *sum, uint64_t used, uint64_t pending, uint64_t request)
{
	sum->others_bytes =
		tenant_add(sum->others_bytes, sum_larger(used * CUQUOTA_UNIT, request));
	sum->others_pending_bytes = tenant_add(
		sum->others_pending_bytes, sum_larger((used + pending) * CUQUOTA_UNIT, request));
}

static void sum_others(const struct segment *segment, uint32_t tenant, const struct shares *shares,
		       struct sum *sum)
{
	uint32_t high = segment_tenants_high(segment);
	uint64_t now = segment_now_ns();

	for (uint32_t i = 0; i < high; i++) {
		const struct cuquota_tenant *record = segment_tenant(segment, i);
		const uint32_t entry = entry_of(i);
		uint64_t request = 0;

		if (i == tenant)
			continue;
		if (__atomic_load_n(&record->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED &&
		    (shares->present[entry] || tenant_is_kept(segment, i, now)))
			request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
		if (entry < TENANTS_SUMMED)
			add_other(sum, shares->used[i], shares->pending[i], request);
		else
			add_other(sum, 0, 0, request);
	}
	add_other(sum, shares->used[TENANTS_SUMMED], shares->pending[TENANTS_SUMMED], 0);
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
		       struct sum *sum)
{
	struct segment_walk walk = segment_walk(segment, SEGMENT_ALL);
	struct shares shares;

	memset(&shares, 0, sizeof(shares));
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
			uint32_t entry = entry_of(reading.tenant);

			shares.used[entry] += use_of(reading.word);
			shares.pending[entry] += reading.pending;
			shares.present[entry] = true;
		}
	}
	sum_others(segment, tenant, &shares, sum);
}

void sum_take(const struct segment *segment, uint32_t tenant, uint32_t self, struct sum *sum)
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
	if (__builtin_expect(sum->requests, 0))
		sum_device(segment, tenant, self, sum);
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

/* As sum_take, with idle credit counted as free, since whoever needs it may take it. Announcements
 * are left aside. */
static void sum_charged(const struct segment *segment, uint32_t tenant, struct sum *sum,
			uint64_t *others)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);
	struct segment_walk walk;
	struct shares shares;

	memset(sum, 0, sizeof(*sum));
	sum->limit = __atomic_load_n(&record->limit, __ATOMIC_SEQ_CST);
	sum->request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
	sum->device_bytes = segment->header->device_bytes;
	sum->requests = __atomic_load_n(&segment->header->requests, __ATOMIC_SEQ_CST);
	if (sum->requests)
		memset(&shares, 0, sizeof(shares));
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
			*others += CUQUOTA_CHARGED(reading.word);
			shares.used[entry_of(reading.tenant)] += CUQUOTA_CHARGED(reading.word);
			shares.present[entry_of(reading.tenant)] = true;
		}
	}
	if (sum->requests)
		sum_others(segment, tenant, &shares, sum);
}

int account_use(const struct segment *segment, uint32_t tenant, struct account_use *use)
{
	uint64_t others;
	struct sum sum;

	memset(use, 0, sizeof(*use));
	if (!segment_has_tenant(segment, tenant))
		return -ENOENT;
	sum_charged(segment, tenant, &sum, &others);
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
