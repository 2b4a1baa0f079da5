/*
 * One allocation out of a pool in flight, and one free in stream order. See pool.h.
 */
#include "policy/pool.h"
#include "policy/context.h"
#include "policy/process.h"
#include "policy/refuse.h"
#include "policy/seat.h"
#include "policy/small.h"

#include <errno.h>

/* By how much a pool was seen to grow, in units of 64 KiB: at first what drivers do [K]. */
static uint32_t step = (32u << 20) / CUQUOTA_UNIT;

bool pool_makes_node(CUstream stream)
{
	CUstreamCaptureStatus status;

	return capturing() && real.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static bool is_of_the_context(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* The device that a stream is of, which need not be that of the current context. */
static const struct device *device_of(CUstream stream)
{
	const struct device *device = device_current();
	CUcontext context, current, popped;
	CUdevice ordinal;
	CUresult rc;

	if (is_of_the_context(stream) || real.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS)
		return device;
	if (real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
		return device;
	if (real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
		return device;
	rc = real.cuCtxGetDevice(&ordinal);
	real.cuCtxPopCurrent_v2(&popped);
	return rc == CUDA_SUCCESS ? device_at(ordinal) : device;
}

/* Names the pool, and its device where it is charged. Counts the claim as open. What the driver
 * does not know either is its own to refuse. */
static CUresult enter(struct pool_claim *claim, CUmemoryPool pool)
{
	const struct device *const device = device_of(claim->stream);
	struct pool_entry *entry;
	int cancel;

	if (!device || (!pool && real.cuDeviceGetMemPool(&pool, device->ordinal) != CUDA_SUCCESS))
		return CUDA_SUCCESS;
	cancel = pool_lock();
	entry = pool_find(pool);
	if (!entry)
		entry = pool_add(pool, device);
	if (entry && entry->charged) {
		claim->claim.device = device_by_index(entry->device);
		entry->claims++;
	}
	pool_unlock(cancel);
	claim->pool = pool;
	return entry ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static uint32_t rounded(uint32_t units, uint32_t to)
{
	const uint64_t up = ((uint64_t)units + to - 1) / to * to;

	return up < UINT32_MAX / 4 ? (uint32_t)up : UINT32_MAX / 4;
}

/* A step where there is room for it, else what is asked for; nothing where the pool has it. */
static int charge(struct claim *claim, CUmemoryPool pool, struct refusal *refusal)
{
	const struct device *const device = claim->device;
	const uint32_t units = rounded(seat_units(claim->bytes), device->grain);

	claim->units = rounded(units, __atomic_load_n(&step, __ATOMIC_RELAXED));
	/* A refusal looks for the dead, which costs a sweep: only of what is really asked for. */
	if (seat_has_room(device, claim->units) &&
	    !seat_charge(device, claim->units, &claim->seat, NULL))
		return 0;
	claim->units = units;
	if (!seat_charge(device, claim->units, &claim->seat, refusal))
		return 0;
	claim->units = 0;
	claim->seat = seat_now(device);
	return pool_unused(pool) >= claim->bytes ? 0 : -EDQUOT;
}

static void leave(struct pool_claim *claim)
{
	const int cancel = pool_lock();
	struct pool_entry *const entry = pool_find(claim->pool);

	if (entry && entry->claims)
		entry->claims--;
	pool_unlock(cancel);
}

CUresult pool_open_from(const void *caller, struct pool_claim *pool_claim, const char *name,
			CUstream stream, CUmemoryPool pool, size_t bytes)
{
	struct claim *const claim = &pool_claim->claim;
	const bool node = pool_makes_node(stream);
	struct refusal refusal;
	CUresult rc;

	*pool_claim = (struct pool_claim){.stream = stream};
	claim->bytes = bytes;
	claim->family = FAMILY_POOL;
	if (!process_entered(caller)) {
		claim->aside = true;
		return CUDA_SUCCESS;
	}
	rc = node ? claim_uncharged(name) : state_permits();
	if (rc == CUDA_SUCCESS && !node)
		rc = enter(pool_claim, pool);
	claim->aside = !claim->device;
	if (!claim->device) {
		if (rc != CUDA_SUCCESS)
			process_left();
		return rc;
	}
	claim->moving = quiet_move();
	if (!charge(claim, pool_claim->pool, &refusal) ||
	    (pool_relieve(claim->device) && !charge(claim, pool_claim->pool, &refusal)))
		return CUDA_SUCCESS;
	leave(pool_claim);
	claim_finish(claim);
	return refuse(claim->device, "", bytes, &refusal);
}

/* What a pool grows by may be learnt from one call with no other in flight. */
static void learn(uint32_t grown, size_t bytes)
{
	const uint32_t now = __atomic_load_n(&step, __ATOMIC_RELAXED);

	if (grown > now && grown > seat_units(bytes))
		__atomic_store_n(&step, grown, __ATOMIC_RELAXED);
}

/* Moves what the pool has grown by from the claim to the pool. False: more than that. */
static bool settle(struct pool_claim *pool_claim)
{
	struct claim *const claim = &pool_claim->claim;
	const int cancel = pool_lock();
	struct pool_entry *const entry = pool_find(pool_claim->pool);
	uint32_t before, took = 0;
	bool within = true;

	if (entry) {
		entry->claims -= entry->claims != 0;
		before = entry->units;
		took = pool_settle(entry, claim->seat, claim->units);
		within = entry->claims || entry->units <= before + claim->units;
		if (!entry->claims && entry->units > before)
			learn(entry->units - before, claim->bytes);
	}
	pool_unlock(cancel);
	seat_refund(claim->device, claim->seat, claim->units - took);
	claim->units = 0;
	return within || seat_within_limit(claim->device);
}

CUresult pool_close(struct pool_claim *pool_claim, CUresult rc, const CUdeviceptr *dptr)
{
	struct claim *const claim = &pool_claim->claim;

	if (!claim->device) {
		process_left();
		return rc;
	}
	if (rc != CUDA_SUCCESS) {
		leave(pool_claim);
		return claim_fail(claim, rc);
	}
	if (settle(pool_claim)) {
		claim_finish(claim);
		return rc;
	}
	/* It goes back to the pool, and from there as far as the stream has passed it. */
	if (real.cuMemFreeAsync(*dptr, pool_claim->stream) == CUDA_SUCCESS) {
		pool_relieve(claim->device);
		rc = refuse_excess(claim->device, "what made a pool grow by more", claim->bytes);
	}
	claim_finish(claim);
	return rc;
}
