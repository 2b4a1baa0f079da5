/*
 * Contexts: each costs SIMGPU_CONTEXT on its device while it lives, the primary one from the first
 * retain to the last release, a reset, or both. What was allocated in a context ends with it. The
 * stack of current contexts is the thread's.
 */
#include "current.h"
#include "heap.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *primary[CARDS_MAX];
static unsigned int primary_flags[CARDS_MAX];

struct context *context_of(CUcontext handle, CUresult *rc)
{
	struct context *context;

	if (!handle)
		return context_current(rc);
	context = handle_get(handle, KIND_CONTEXT);
	if (!context)
		*rc = CUDA_ERROR_INVALID_CONTEXT;
	return context;
}

static void set_defaults(struct context *context)
{
	context->limit[CU_LIMIT_STACK_SIZE] = 1024;
	context->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1U << 20;
	context->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8U << 20;
	context->limit[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	context->limit[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	context->limit[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	context->shared_config = 1;
}

/* Pays for a context. */
static CUresult pay(struct context *context)
{
	const struct config *const config = config_get();
	uint64_t bytes = config->context_bytes;
	uint32_t units;
	bool locked;
	int rc = 0;

	if (!config->exact)
		bytes = (bytes + config->grain - 1) & ~(config->grain - 1);
	units = account_units(bytes);
	locked = sim_lock();
	if (units)
		rc = account_charge(&sim.account, context->card, units, false);
	if (!rc)
		context->units = units;
	sim_unlock(locked);
	return rc ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void end_memory(struct context *context)
{
	bool locked;

	heap_drop(context);
	locked = sim_lock();
	if (context->units)
		account_refund(&sim.account, context->card, context->units);
	context->units = 0;
	sim_unlock(locked);
}

static CUresult create(CUcontext *pctx, const unsigned int flags, const CUdevice dev,
		       const unsigned int api_version)
{
	struct context *context;
	unsigned int card;
	CUresult rc;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	rc = device_card(dev, &card);
	if (rc)
		return rc;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	context = handle_new(KIND_CONTEXT);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->card = card;
	context->flags = flags;
	context->api_version = api_version;
	context->users = 1;
	context->heap = heap_new();
	set_defaults(context);
	rc = pay(context);
	if (!rc)
		rc = current_push(context);
	if (rc) {
		end_memory(context);
		free(context->heap);
		handle_drop(context, KIND_CONTEXT);
		return rc;
	}
	*pctx = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxCreate_v2, (CUcontext *pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev))
{
	return create(pctx, flags, dev, 3020);
}

CUAPI(cuCtxCreate, (CUcontext *pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev))
{
	return create(pctx, flags, dev, 3010);
}

CUAPI(cuCtxCreate_v3,
      (CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
       CUdevice dev),
      (pctx, paramsArray, numParams, flags, dev))
{
	if (numParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(pctx, flags, dev, 3020);
}

CUAPI(cuCtxCreate_v4,
      (CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev),
      (pctx, ctxCreateParams, flags, dev))
{
	if (ctxCreateParams && ctxCreateParams->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (ctxCreateParams && ctxCreateParams->numExecAffinityParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(pctx, flags, dev, 3020);
}

/* Ends a context that is not primary; pops it where it is the calling thread's current one. */
static CUresult destroy(struct context *context)
{
	const bool is_current = current_is(context);

	/* From here on no thread allocates in it: heap_alloc looks under the lock. */
	__atomic_store_n(&context->handle.kind, KIND_NONE, __ATOMIC_RELEASE);
	end_memory(context);
	free(context->heap);
	context->heap = NULL;
	handle_drop(context, KIND_CONTEXT);
	if (is_current)
		current_pop();
	return CUDA_SUCCESS;
}

CUAPI(cuCtxDestroy_v2, (CUcontext ctx), (ctx))
{
	struct context *context;
	CUresult rc = CUDA_ERROR_INVALID_CONTEXT;

	pthread_mutex_lock(&lock);
	context = handle_get(ctx, KIND_CONTEXT);
	if (context && !context->primary)
		rc = destroy(context);
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuCtxDestroy, (CUcontext ctx), (ctx))
{
	return INNER(cuCtxDestroy_v2)(ctx);
}

CUAPI(cuCtxAttach, (CUcontext *pctx, unsigned int flags), (pctx, flags))
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct context *const context = flags || !pctx ? NULL : context_current(&rc);

	if (!context)
		return rc;
	pthread_mutex_lock(&lock);
	context->users++;
	pthread_mutex_unlock(&lock);
	*pctx = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxDetach, (CUcontext ctx), (ctx))
{
	struct context *context;
	CUresult rc = CUDA_ERROR_INVALID_CONTEXT;

	pthread_mutex_lock(&lock);
	context = handle_get(ctx, KIND_CONTEXT);
	if (context && !context->primary)
		rc = --context->users ? CUDA_SUCCESS : destroy(context);
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuDevicePrimaryCtxRetain, (CUcontext *pctx, CUdevice dev), (pctx, dev))
{
	struct context *context;
	unsigned int card;
	CUresult rc;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	rc = device_card(dev, &card);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	context = primary[card];
	if (!context) {
		context = primary[card] = handle_new(KIND_CONTEXT);
		context->handle.kind = KIND_NONE;
		context->card = card;
		context->primary = true;
		context->api_version = 3020;
		context->heap = heap_new();
	}
	if (context->handle.kind != KIND_CONTEXT) {
		set_defaults(context);
		context->flags = primary_flags[card];
		rc = pay(context);
		if (!rc)
			__atomic_store_n(&context->handle.kind, KIND_CONTEXT, __ATOMIC_RELEASE);
	}
	if (!rc) {
		context->users++;
		*pctx = (CUcontext)context;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static CUresult release(const CUdevice dev, const bool all)
{
	struct context *context;
	unsigned int card;
	CUresult rc = device_card(dev, &card);

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	context = primary[card];
	if (!all && (!context || !context->users))
		rc = CUDA_ERROR_INVALID_CONTEXT;
	else if (context && (all || !--context->users) && context->handle.kind == KIND_CONTEXT) {
		__atomic_store_n(&context->handle.kind, KIND_NONE, __ATOMIC_RELEASE);
		end_memory(context);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev))
{
	return release(dev, false);
}

CUAPI(cuDevicePrimaryCtxRelease, (CUdevice dev), (dev))
{
	return INNER(cuDevicePrimaryCtxRelease_v2)(dev);
}

CUAPI(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev))
{
	return release(dev, true);
}

CUAPI(cuDevicePrimaryCtxReset, (CUdevice dev), (dev))
{
	return INNER(cuDevicePrimaryCtxReset_v2)(dev);
}

CUAPI(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int *flags, int *active),
      (dev, flags, active))
{
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	if (rc)
		return rc;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	*active = primary[card] && primary[card]->handle.kind == KIND_CONTEXT;
	*flags = primary_flags[card];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUAPI(cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags), (dev, flags))
{
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	if (rc)
		return rc;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	primary_flags[card] = flags;
	if (primary[card])
		primary[card]->flags = flags;
	return CUDA_SUCCESS;
}

CUAPI(cuDevicePrimaryCtxSetFlags, (CUdevice dev, unsigned int flags), (dev, flags))
{
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	/* Before 11.0 the flags of an active context could not be changed. */
	if (!rc && primary[card] && primary[card]->handle.kind == KIND_CONTEXT)
		return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
	return rc ? rc : INNER(cuDevicePrimaryCtxSetFlags_v2)(dev, flags);
}
