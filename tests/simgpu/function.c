/*
 * What can be asked of a function or kernel, and set in it; occupancy.
 */
#include "sim.h"

static CUresult check(const void *f)
{
	return handle_get(f, KIND_FUNCTION) || handle_get(f, KIND_KERNEL)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult attribute(int *pi, const CUfunction_attribute attrib, const void *f)
{
	const CUresult rc = check(f);

	if (rc)
		return rc;
	if (!pi || (unsigned int)attrib >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 :
	      attrib == CU_FUNC_ATTRIBUTE_NUM_REGS		? 32 :
	      attrib == CU_FUNC_ATTRIBUTE_PTX_VERSION ||
			      attrib == CU_FUNC_ATTRIBUTE_BINARY_VERSION ?
								  80 :
								  0;
	return CUDA_SUCCESS;
}

CUAPI(cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc),
      (pi, attrib, hfunc))
{
	return attribute(pi, attrib, hfunc);
}

CUAPI(cuKernelGetAttribute,
      (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev),
      (pi, attrib, kernel, dev))
{
	return attribute(pi, attrib, kernel);
}

CUAPI(cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value),
      (hfunc, attrib, value))
{
	return check(hfunc);
}

CUAPI(cuKernelSetAttribute, (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev),
      (attrib, val, kernel, dev))
{
	return check(kernel);
}

CUAPI(cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), (hfunc, config))
{
	return check(hfunc);
}

CUAPI(cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice dev),
      (kernel, config, dev))
{
	return check(kernel);
}

CUAPI(cuFuncSetSharedMemConfig, (CUfunction hfunc, CUsharedconfig config), (hfunc, config))
{
	return check(hfunc);
}

CUAPI(cuFuncSetBlockShape, (CUfunction hfunc, int x, int y, int z), (hfunc, x, y, z))
{
	return check(hfunc);
}

CUAPI(cuFuncSetSharedSize, (CUfunction hfunc, unsigned int bytes), (hfunc, bytes))
{
	return check(hfunc);
}

CUAPI(cuFuncLoad, (CUfunction function), (function))
{
	return check(function);
}

CUAPI(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function), (state, function))
{
	const CUresult rc = check(function);

	if (!rc && state)
		*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return rc ? rc : state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
      (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
      (numBlocks, func, blockSize, dynamicSMemSize, flags))
{
	const CUresult rc = check(func);

	if (rc)
		return rc;
	if (!numBlocks || blockSize <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*numBlocks = blockSize > 2048 ? 0 : 2048 / blockSize > 32 ? 32 : 2048 / blockSize;
	return CUDA_SUCCESS;
}

CUAPI(cuOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
      (numBlocks, func, blockSize, dynamicSMemSize))
{
	return INNER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(numBlocks, func,
									    blockSize,
									    dynamicSMemSize, 0);
}
