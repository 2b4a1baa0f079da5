/* Every way to make and to drop a context; what it costs is policy/context's affair. */
#include "policy/claim.h"
#include "policy/context.h"

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct context_change change;
	const CUresult rc = context_make(&change, CONTEXT_CREATE, dev);

	return rc == CUDA_SUCCESS ? context_made(&change, real.cuCtxCreate(pctx, flags, dev), pctx)
				  : rc;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct context_change change;
	const CUresult rc = context_make(&change, CONTEXT_CREATE, dev);

	return rc == CUDA_SUCCESS
		       ? context_made(&change, real.cuCtxCreate_v2(pctx, flags, dev), pctx)
		       : rc;
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
			unsigned int flags, CUdevice dev)
{
	struct context_change change;
	CUresult rc = context_make(&change, CONTEXT_CREATE, dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = real.cuCtxCreate_v3(pctx, paramsArray, numParams, flags, dev);
	return context_made(&change, rc, pctx);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
			CUdevice dev)
{
	struct context_change change;
	CUresult rc = context_make(&change, CONTEXT_CREATE, dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = real.cuCtxCreate_v4(pctx, ctxCreateParams, flags, dev);
	return context_made(&change, rc, pctx);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	struct context_change change;

	context_destroy(&change, ctx);
	return context_answered(&change, real.cuCtxDestroy(ctx));
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct context_change change;

	context_destroy(&change, ctx);
	return context_answered(&change, real.cuCtxDestroy_v2(ctx));
}

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	struct context_change change;

	context_attach(&change);
	return context_answered(&change, real.cuCtxAttach(pctx, flags));
}

CUresult cuCtxDetach(CUcontext ctx)
{
	struct context_change change;

	context_detach(&change, ctx);
	return context_answered(&change, real.cuCtxDetach(ctx));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct context_change change;
	const CUresult rc = context_make(&change, CONTEXT_RETAIN, dev);

	return rc == CUDA_SUCCESS
		       ? context_made(&change, real.cuDevicePrimaryCtxRetain(pctx, dev), pctx)
		       : rc;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	struct context_change change;

	context_release(&change, dev);
	return context_released(&change, real.cuDevicePrimaryCtxRelease(dev));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct context_change change;

	context_release(&change, dev);
	return context_released(&change, real.cuDevicePrimaryCtxRelease_v2(dev));
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	struct context_change change;

	context_release(&change, dev);
	return context_released(&change, real.cuDevicePrimaryCtxReset(dev));
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct context_change change;

	context_release(&change, dev);
	return context_released(&change, real.cuDevicePrimaryCtxReset_v2(dev));
}

/* It may make the primary context and keep it: not counted yet. */
CUresult cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
			  unsigned int flags)
{
	const CUresult rc = claim_uncharged(__func__);

	return rc == CUDA_SUCCESS ? real.cuGreenCtxCreate(phCtx, desc, dev, flags) : rc;
}
