/*
 * See bound.h.
 */
#include "ledger/bound.h"
#include "base/point.h"
#include "ledger/tenant.h"

/* No device has so much, and `risen` goes back where it was scribbled. Sums of less cannot
 * overflow. */
#define RISEN_MOST (1ull << 40)

static uint64_t risen_of(const struct cuquota_tenant *record)
{
	return __atomic_load_n(&record->risen, __ATOMIC_SEQ_CST);
}

struct bound_refresh bound_begin(struct bound *bound, const struct segment *segment)
{
	struct bound_refresh refresh = {NULL, segment_tenants_high(segment)};
	uint32_t version;

	if (!bound || refresh.tenants > BOUND_TENANTS)
		return refresh;
	version = __atomic_load_n(&bound->version, __ATOMIC_RELAXED);
	if (version & 1 ||
	    !__atomic_compare_exchange_n(&bound->version, &version, version + 1, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return refresh;
	refresh.bound = bound;
	for (uint32_t i = 0; i < refresh.tenants; i++)
		__atomic_store_n(&bound->risen[i], risen_of(segment_tenant(segment, i)),
				 __ATOMIC_RELAXED);
	POINT("bound.begun");
	return refresh;
}

void bound_end(const struct bound_refresh *refresh)
{
	struct bound *const bound = refresh->bound;
	const uint32_t version = __atomic_load_n(&bound->version, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&bound->tenants, refresh->tenants, __ATOMIC_RELAXED);
	/* 0 means that nothing was ever noted. */
	__atomic_store_n(&bound->version, version ? version : 2, __ATOMIC_RELEASE);
}

bool bound_others(const struct bound *bound, const struct segment *segment, uint32_t tenant,
		  uint64_t *bytes)
{
	const uint32_t version = __atomic_load_n(&bound->version, __ATOMIC_ACQUIRE);
	const uint32_t seen = __atomic_load_n(&bound->tenants, __ATOMIC_RELAXED);
	const uint32_t high = segment_tenants_high(segment);
	uint64_t sum = 0;

	if (!version || version & 1)
		return false;
	POINT("bound.reading");
	for (uint32_t i = 0; i < high; i++) {
		const struct cuquota_tenant *const record = segment_tenant(segment, i);
		uint64_t units = risen_of(record), request = 0;

		if (i == tenant)
			continue;
		/* One that is newer has nothing but what was added, also beyond what is noted. */
		if (i < seen) {
			units -= __atomic_load_n(&bound->risen[i], __ATOMIC_RELAXED);
			if (units > RISEN_MOST)
				return false;
			units += __atomic_load_n(&bound->use[i], __ATOMIC_RELAXED);
		} else if (units > RISEN_MOST) {
			return false;
		}
		/* Whether it is still promised is not looked at. */
		if (__atomic_load_n(&record->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED)
			request = __atomic_load_n(&record->request, __ATOMIC_SEQ_CST);
		units *= CUQUOTA_UNIT;
		sum = tenant_add(sum, units > request ? units : request);
	}
	*bytes = sum;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&bound->version, __ATOMIC_RELAXED) == version;
}
