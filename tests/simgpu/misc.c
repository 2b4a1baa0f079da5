/*
 * Errors by name, the profiler's switches and other calls that do nothing here.
 */
#include "resolver.h"
#include "sim.h"

/* The wheels carry no cudaProfiler.h. */
SIM_EXPORT CUresult cuProfilerStart(void);
SIM_EXPORT CUresult cuProfilerStop(void);

static const struct resolver_error *find_error(const CUresult error)
{
	unsigned int i;

	for (i = 0; i < resolver_error_count; i++)
		if (resolver_errors[i].code == (int)error)
			return &resolver_errors[i];
	return NULL;
}

ANYTIME(cuGetErrorName, (CUresult error, const char **pStr), (error, pStr))
{
	const struct resolver_error *const found = find_error(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = found ? found->name : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ANYTIME(cuGetErrorString, (CUresult error, const char **pStr), (error, pStr))
{
	const struct resolver_error *const found = find_error(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = found ? found->text : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuProfilerStart, (void), ())
{
	return CUDA_SUCCESS;
}

CUAPI(cuProfilerStop, (void), ())
{
	return CUDA_SUCCESS;
}

CUAPI(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode))
{
	static __thread int current __attribute__((tls_model("initial-exec")));
	int before = current;

	if (!mode || (unsigned int)*mode > 2)
		return CUDA_ERROR_INVALID_VALUE;
	current = (int)*mode;
	*mode = (CUstreamCaptureMode)before;
	return CUDA_SUCCESS;
}

CUAPI(cuFlushGPUDirectRDMAWrites,
      (CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope),
      (target, scope))
{
	return CUDA_SUCCESS;
}
