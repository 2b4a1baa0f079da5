/*
 * Tenants of one device. See tenant.h.
 */
#include "ledger/tenant.h"
#include "base/point.h"
#include "ledger/account.h"
#include "ledger/life.h"

#include <errno.h>
#include <string.h>

#define SETTLE_MS 2000 /* how long another may settle before we give up with a reason */

static bool is_used(const struct cuquota_tenant *record)
{
	return __atomic_load_n(&record->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED;
}

static bool is_called(const struct cuquota_tenant *record, const char *name)
{
	return !strncmp(record->name, name, sizeof(record->name));
}

int tenant_find(const struct segment *segment, const char *name)
{
	uint32_t high = segment_tenants_high(segment);

	for (uint32_t i = 0; i < high; i++) {
		const struct cuquota_tenant *record = segment_tenant(segment, i);

		if (is_used(record) && is_called(record, name))
			return (int)i;
	}
	return -ENOENT;
}

bool tenant_has_members(const struct segment *segment, uint32_t tenant)
{
	struct segment_walk walk = segment_walk(segment, tenant);

	return segment_step_member(&walk, tenant);
}

bool tenant_is_promised(const struct segment *segment, uint32_t tenant, uint64_t now_ns)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);

	return is_used(record) && __atomic_load_n(&record->request, __ATOMIC_SEQ_CST) &&
	       (tenant_is_kept(segment, tenant, now_ns) || tenant_has_members(segment, tenant));
}

static uint64_t promised_to_others(const struct segment *segment, uint32_t tenant)
{
	uint64_t now = segment_now_ns(), sum = 0;
	uint32_t high = segment_tenants_high(segment);

	for (uint32_t i = 0; i < high; i++)
		if (i != tenant && tenant_is_promised(segment, i, now))
			sum = tenant_add(sum, __atomic_load_n(&segment_tenant(segment, i)->request,
							      __ATOMIC_SEQ_CST));
	return sum;
}

/*
 * A record for `name`, under the settle byte: a free one, else one whose tenant is gone with
 * nothing promised. A joiner that found the old tenant just before publishes its slot, then looks
 * at the record again (tenant_entered); we free the record, then look at the slots again: one of us
 * sees the other.
 */
static int make(const struct segment *segment, const char *name)
{
	uint64_t now = segment_now_ns();
	struct cuquota_tenant *record = NULL;
	uint32_t index = 0;

	for (uint32_t i = 0; i < segment->tenant_count && !record; i++) {
		index = i;
		/* A free one with members is left of a maker that died while it took the record
		 * from under a joiner. */
		if (!is_used(segment_tenant(segment, i)) && !tenant_has_members(segment, i))
			record = segment_tenant(segment, i);
	}
	for (uint32_t i = 0; i < segment->tenant_count && !record; i++) {
		struct cuquota_tenant *old = segment_tenant(segment, i);

		if (__atomic_load_n(&old->flags, __ATOMIC_RELAXED) & CUQUOTA_ADMINISTERED ||
		    tenant_has_members(segment, i) || tenant_is_promised(segment, i, now))
			continue;
		__atomic_store_n(&old->state, CUQUOTA_FREE, __ATOMIC_SEQ_CST);
		POINT("tenant.reclaimed");
		if (tenant_has_members(segment, i)) {
			__atomic_store_n(&old->state, CUQUOTA_USED, __ATOMIC_SEQ_CST);
			continue;
		}
		index = i;
		record = old;
	}
	if (!record)
		return -ENFILE;
	memset(record->name, 0, sizeof(record->name));
	memcpy(record->name, name, strlen(name));
	__atomic_store_n(&record->flags, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&record->limit, CUQUOTA_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&record->request, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&record->keep_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&record->left_ns, 0, __ATOMIC_RELAXED);
	POINT("tenant.named");
	if (segment_tenants_high(segment) <= index)
		__atomic_store_n(&segment->header->tenants_high, index + 1, __ATOMIC_SEQ_CST);
	POINT("tenant.high_raised");
	__atomic_store_n(&record->state, CUQUOTA_USED, __ATOMIC_SEQ_CST);
	POINT("tenant.made");
	return (int)index;
}

/*
 * What was granted under the rules before is void: epoch first, then credit. A charge that reads
 * the new epoch sums under the new rule; one that read the old epoch loses its compare-and-swap to
 * our change of the word, or was granted before we return.
 */
static void make_binding(const struct segment *segment, uint32_t tenant)
{
	__atomic_add_fetch(&segment->header->epoch, 1, __ATOMIC_SEQ_CST);
	POINT("tenant.epoch_raised");
	account_void_credit(segment, tenant);
	POINT("tenant.credit_taken");
}

struct rules {
	uint64_t limit, request, keep_ns;
};

static struct rules rules_of(const struct cuquota_tenant *record)
{
	return (struct rules){
		.limit = __atomic_load_n(&record->limit, __ATOMIC_SEQ_CST),
		.request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST),
		.keep_ns = __atomic_load_n(&record->keep_ns, __ATOMIC_SEQ_CST),
	};
}

static bool are_same(struct rules a, struct rules b)
{
	return a.limit == b.limit && a.request == b.request && a.keep_ns == b.keep_ns;
}

/* Store the rules, and make them bind whom they tighten: all tenants when `promise` is a new one,
 * else this one. */
static void store(const struct segment *segment, uint32_t tenant, const struct rules *rules,
		  bool promise)
{
	struct cuquota_tenant *record = segment_tenant(segment, tenant);
	const uint64_t before = __atomic_load_n(&record->limit, __ATOMIC_SEQ_CST);

	__atomic_store_n(&record->keep_ns, rules->keep_ns, __ATOMIC_SEQ_CST);
	POINT("tenant.keep_stored");
	__atomic_store_n(&record->limit, rules->limit, __ATOMIC_SEQ_CST);
	POINT("tenant.limit_stored");
	if (rules->request)
		__atomic_store_n(&segment->header->requests, 1, __ATOMIC_SEQ_CST);
	POINT("tenant.requests_noted");
	__atomic_store_n(&record->request, rules->request, __ATOMIC_SEQ_CST);
	POINT("tenant.request_stored");
	/* Members are looked for after: who joins meanwhile without the settle byte publishes its
	 * slot, then loads the limit, so it is seen here or sees the new one. */
	if (promise || (rules->limit < before && tenant_has_members(segment, tenant)))
		make_binding(segment, promise ? SEGMENT_ALL : tenant);
}

static bool is_settling(const struct cuquota_tenant *record)
{
	return __atomic_load_n(&record->flags, __ATOMIC_SEQ_CST) & CUQUOTA_SETTLING;
}

static void end_settling(struct cuquota_tenant *record)
{
	if (is_settling(record))
		__atomic_and_fetch(&record->flags, ~CUQUOTA_SETTLING, __ATOMIC_SEQ_CST);
	POINT("tenant.opened");
}

/*
 * Has the tenant no members, so that its rules may become looser? Under the settle byte; what is
 * answered stays true until end_settling. A joiner without the byte publishes its slot, then looks
 * at the flag; we set the flag, then look at the slots again: one of us sees the other. A death
 * leaves the flag to the next who settles, and joiners ask for the byte until then.
 */
static bool begins_anew(const struct segment *segment, uint32_t tenant)
{
	struct cuquota_tenant *record = segment_tenant(segment, tenant);

	if (tenant_has_members(segment, tenant))
		return false;
	POINT("tenant.empty");
	__atomic_or_fetch(&record->flags, CUQUOTA_SETTLING, __ATOMIC_SEQ_CST);
	POINT("tenant.closed");
	return !tenant_has_members(segment, tenant);
}

/* Has its promise held since it was settled? Where a member left longer ago than the request is
 * kept, that one may have been the last for a while, in which others were granted it. */
static bool promise_held(const struct segment *segment, uint32_t tenant)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);

	return !__atomic_load_n(&record->request, __ATOMIC_SEQ_CST) ||
	       !__atomic_load_n(&record->left_ns, __ATOMIC_SEQ_CST) ||
	       tenant_is_kept(segment, tenant, segment_now_ns());
}

/* Would `request` be promised anew: more than the record's, or all of it because that one's time
 * has run out? */
static bool is_new_promise(const struct segment *segment, uint32_t tenant, uint64_t request)
{
	const struct cuquota_tenant *record = segment_tenant(segment, tenant);

	return request && (request > __atomic_load_n(&record->request, __ATOMIC_SEQ_CST) ||
			   !promise_held(segment, tenant) ||
			   !tenant_is_promised(segment, tenant, segment_now_ns()));
}

/* What `wish` makes of the record's present rules. */
static struct rules combine(const struct cuquota_tenant *record, const struct tenant_wish *wish,
			    bool fresh)
{
	struct rules rules = rules_of(record);

	if (__atomic_load_n(&record->flags, __ATOMIC_SEQ_CST) & CUQUOTA_ADMINISTERED)
		return rules;
	if (fresh || wish->limit < rules.limit)
		rules.limit = wish->limit;
	if (fresh || wish->request > rules.request)
		rules.request = wish->request;
	if (fresh || wish->keep_ns > rules.keep_ns)
		rules.keep_ns = wish->keep_ns;
	if (rules.request > rules.limit)
		rules.request = rules.limit;
	return rules;
}

static void report(const struct cuquota_tenant *record, const struct tenant_wish *wish,
		   uint64_t previous, struct tenant_outcome *outcome)
{
	outcome->limit = __atomic_load_n(&record->limit, __ATOMIC_SEQ_CST);
	outcome->request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
	outcome->previous = previous;
	outcome->administered =
		__atomic_load_n(&record->flags, __ATOMIC_SEQ_CST) & CUQUOTA_ADMINISTERED;
	outcome->conflict = (wish->limit != CUQUOTA_NONE && wish->limit != outcome->limit) ||
			    (wish->request && wish->request != outcome->request);
}

/* A folder on disk outlives the kernel: what was promised before it ended is not waited for. */
static int enter_boot(const struct segment *segment)
{
	int settled = life_settle(segment, SETTLE_MS);

	if (settled < 0)
		return settled;
	if (!segment_is_of_this_boot(segment)) {
		for (uint32_t i = 0; i < segment->tenant_count; i++)
			__atomic_store_n(&segment_tenant(segment, i)->left_ns, 0, __ATOMIC_SEQ_CST);
		POINT("tenant.old_boot_cleared");
		segment_note_boot(segment);
	}
	life_settled(settled);
	return 0;
}

int tenant_settle(const struct segment *segment, const struct tenant_wish *wish,
		  struct tenant_outcome *outcome, int *settled)
{
	uint64_t previous = CUQUOTA_NONE;
	struct cuquota_tenant *record = NULL;
	struct rules rules;
	int index;

	*settled = -1;
	memset(outcome, 0, sizeof(*outcome));
	if (strlen(wish->name) >= CUQUOTA_NAME || !wish->name[0])
		return -ENAMETOOLONG;
	if (!segment_is_of_this_boot(segment)) {
		index = enter_boot(segment);
		if (index)
			return index;
	}
	index = tenant_find(segment, wish->name);
	if (index >= 0 && tenant_has_members(segment, (uint32_t)index)) {
		record = segment_tenant(segment, (uint32_t)index);
		rules = combine(record, wish, false);
		if (!is_settling(record) && are_same(rules, rules_of(record)) &&
		    promise_held(segment, (uint32_t)index)) {
			report(record, wish, rules.limit, outcome);
			return index;
		}
	}
	*settled = life_settle(segment, SETTLE_MS);
	if (*settled < 0)
		return *settled;
	index = tenant_find(segment, wish->name);
	if (index < 0)
		index = make(segment, wish->name);
	else
		previous = rules_of(segment_tenant(segment, (uint32_t)index)).limit;
	if (index >= 0) {
		record = segment_tenant(segment, (uint32_t)index);
		rules = combine(record, wish, begins_anew(segment, (uint32_t)index));
		outcome->lowered =
			rules.limit < previous && tenant_has_members(segment, (uint32_t)index);
		outcome->promised = promised_to_others(segment, (uint32_t)index);
		const bool promise = is_new_promise(segment, (uint32_t)index, rules.request);
		if (promise && (outcome->promised > segment->header->device_bytes ||
				rules.request > segment->header->device_bytes - outcome->promised))
			index = -ENOSPC;
		else
			store(segment, (uint32_t)index, &rules, promise);
		end_settling(record);
	}
	if (index < 0) {
		life_settled(*settled);
		*settled = -1;
		return index;
	}
	report(record, wish, previous, outcome);
	return index;
}

int tenant_entered(const struct segment *segment, uint32_t tenant, const struct tenant_wish *wish,
		   bool settled, struct tenant_outcome *outcome)
{
	struct cuquota_tenant *record = segment_tenant(segment, tenant);

	if (!is_used(record) || !is_called(record, wish->name))
		return -ESTALE;
	/* Without the settle byte the tenant may have ended meanwhile and begin, or have begun,
	 * anew under looser rules than ours. The flag is looked at before the rules. */
	if (!settled && (is_settling(record) || !promise_held(segment, tenant)))
		return -ESTALE;
	if (!are_same(combine(record, wish, false), rules_of(record)))
		return -ESTALE;
	report(record, wish, outcome->previous, outcome);
	/* A promise holds from the first member on: what was granted since the rules were stored
	 * did not see it. */
	if (settled && outcome->request)
		make_binding(segment, SEGMENT_ALL);
	return 0;
}

/*
 * Before the slot is free: a death in between leaves the slot used, and whoever forgets it stamps
 * again. Whoever is the last cannot be told while others leave too, so each stamps.
 */
void tenant_leaving(const struct segment *segment, uint32_t tenant)
{
	if (segment_has_tenant(segment, tenant))
		__atomic_store_n(&segment_tenant(segment, tenant)->left_ns, segment_now_ns(),
				 __ATOMIC_SEQ_CST);
}

int tenant_administer(const struct segment *segment, const struct tenant_wish *wish, bool release)
{
	struct cuquota_tenant *record;
	uint64_t promised;
	int settled, index;

	settled = life_settle(segment, SETTLE_MS);
	if (settled < 0)
		return settled;
	index = tenant_find(segment, wish->name);
	if (index >= 0) {
		record = segment_tenant(segment, (uint32_t)index);
		promised = promised_to_others(segment, (uint32_t)index);
		if (release) {
			__atomic_and_fetch(&record->flags, ~CUQUOTA_ADMINISTERED, __ATOMIC_SEQ_CST);
			POINT("tenant.released");
		} else if (promised > segment->header->device_bytes ||
			   wish->request > segment->header->device_bytes - promised) {
			index = -ENOSPC;
		} else {
			const struct rules rules = {
				.limit = wish->limit,
				.request = wish->request < wish->limit ? wish->request
								       : wish->limit,
				.keep_ns = wish->keep_ns,
			};

			__atomic_or_fetch(&record->flags, CUQUOTA_ADMINISTERED, __ATOMIC_SEQ_CST);
			POINT("tenant.administered");
			store(segment, (uint32_t)index, &rules,
			      is_new_promise(segment, (uint32_t)index, rules.request));
		}
	}
	life_settled(settled);
	return index < 0 ? index : 0;
}
