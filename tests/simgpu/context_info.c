/*
 * What can be asked of a context, and set in it.
 */
#include "pool.h"
#include "stream.h"

CUAPI(cuCtxGetDevice_v2, (CUdevice *device, CUcontext ctx), (device, ctx))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_of(ctx, &rc);

	if (!context)
		return rc;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = device_of_card(context->card);
	return CUDA_SUCCESS;
}

CUAPI(cuCtxGetDevice, (CUdevice *device), (device))
{
	return INNER(cuCtxGetDevice_v2)(device, NULL);
}

CUAPI(cuCtxSynchronize_v2, (CUcontext ctx), (ctx))
{
	CUresult rc = CUDA_SUCCESS;

	context_of(ctx, &rc);
	rc = capture_forbids_any(rc);
	if (!rc)
		pool_synchronized();
	return rc;
}

CUAPI(cuCtxSynchronize, (void), ())
{
	return INNER(cuCtxSynchronize_v2)(NULL);
}

CUAPI(cuCtxGetApiVersion, (CUcontext ctx, unsigned int *version), (ctx, version))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_of(ctx, &rc);

	if (!context)
		return rc;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = context->api_version;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxGetFlags, (unsigned int *flags), (flags))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxSetFlags, (unsigned int flags), (flags))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (context)
		context->flags = flags;
	return rc;
}

CUAPI(cuCtxGetId, (CUcontext ctx, unsigned long long *ctxId), (ctx, ctxId))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_of(ctx, &rc);

	if (!context)
		return rc;
	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	*ctxId = context->handle.id;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxGetLimit, (size_t *pvalue, CUlimit limit), (pvalue, limit))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!pvalue)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*pvalue = context->limit[limit];
	return CUDA_SUCCESS;
}

CUAPI(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	context->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxGetCacheConfig, (CUfunc_cache * pconfig), (pconfig))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!pconfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pconfig = (CUfunc_cache)context->cache_config;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxSetCacheConfig, (CUfunc_cache config), (config))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (context)
		context->cache_config = config;
	return rc;
}

CUAPI(cuCtxGetSharedMemConfig, (CUsharedconfig * pConfig), (pConfig))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!pConfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pConfig = (CUsharedconfig)context->shared_config;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxSetSharedMemConfig, (CUsharedconfig config), (config))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (context)
		context->shared_config = (int)config;
	return rc;
}

CUAPI(cuCtxGetStreamPriorityRange, (int *leastPriority, int *greatestPriority),
      (leastPriority, greatestPriority))
{
	CUresult rc = CUDA_SUCCESS;

	if (!context_current(&rc))
		return rc;
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = -5;
	return CUDA_SUCCESS;
}

CUAPI(cuCtxResetPersistingL2Cache, (void), ())
{
	CUresult rc = CUDA_SUCCESS;

	context_current(&rc);
	return rc;
}

CUAPI(cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned int Flags), (peerContext, Flags))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);
	const struct context *const peer = handle_get(peerContext, KIND_CONTEXT);

	if (!context)
		return rc;
	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	return !peer || peer->card == context->card ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUAPI(cuCtxDisablePeerAccess, (CUcontext peerContext), (peerContext))
{
	return handle_get(peerContext, KIND_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUAPI(cuCtxGetExecAffinity, (CUexecAffinityParam * pExecAffinity, CUexecAffinityType type),
      (pExecAffinity, type))
{
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}
