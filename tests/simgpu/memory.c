/*
 * The entry points for linear, pitched and managed memory, and what they report.
 */
#include "heap.h"
#include "pool.h"
#include "sim.h"

#include <string.h>

CUAPI(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), (dptr, bytesize))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!dptr || !bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	return heap_alloc(context, bytesize, false, false, dptr);
}

CUAPI(cuMemAlloc, (CUdeviceptr_v1 * dptr, unsigned int bytesize), (dptr, bytesize))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);
	CUdeviceptr at = 0;

	if (!context)
		return rc;
	if (!dptr || !bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	rc = heap_alloc(context, bytesize, false, true, &at);
	if (!rc)
		*dptr = (CUdeviceptr_v1)at;
	return rc;
}

static uint64_t row_of(const uint64_t width)
{
	const uint64_t step = config_get()->pitch;

	return (width + step - 1) & ~(step - 1);
}

CUAPI(cuMemAllocPitch_v2,
      (CUdeviceptr * dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
       unsigned int ElementSizeBytes),
      (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes))
{
	const size_t pitch = row_of(WidthInBytes);
	CUresult rc = CUDA_SUCCESS;
	size_t bytes;

	if (!dptr || !pPitch || !WidthInBytes || !Height ||
	    (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(pitch, Height, &bytes) || pitch < WidthInBytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = INNER(cuMemAlloc_v2)(dptr, bytes);
	if (!rc)
		*pPitch = pitch;
	return rc;
}

CUAPI(cuMemAllocPitch,
      (CUdeviceptr_v1 * dptr, unsigned int *pPitch, unsigned int WidthInBytes, unsigned int Height,
       unsigned int ElementSizeBytes),
      (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes))
{
	const uint64_t pitch = row_of(WidthInBytes);
	CUresult rc;

	if (!dptr || !pPitch || !WidthInBytes || !Height ||
	    (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (pitch * Height > UINT32_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = INNER(cuMemAlloc)(dptr, (unsigned int)(pitch * Height));
	if (!rc)
		*pPitch = (unsigned int)pitch;
	return rc;
}

CUAPI(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags),
      (dptr, bytesize, flags))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);

	if (!context)
		return rc;
	if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	return heap_alloc(context, bytesize, true, false, dptr);
}

CUAPI(cuMemFree_v2, (CUdeviceptr dptr), (dptr))
{
	CUresult rc = CUDA_SUCCESS;

	if (!context_current(&rc))
		return rc;
	if (!dptr)
		return CUDA_SUCCESS;
	rc = heap_free(dptr);
	return rc == CUDA_ERROR_INVALID_VALUE ? pool_free(dptr) : rc;
}

CUAPI(cuMemFree, (CUdeviceptr_v1 dptr), (dptr))
{
	return INNER(cuMemFree_v2)(dptr);
}

CUAPI(cuMemGetAddressRange_v2, (CUdeviceptr * pbase, size_t *psize, CUdeviceptr dptr),
      (pbase, psize, dptr))
{
	CUresult rc = CUDA_SUCCESS;
	struct block block;

	if (!context_current(&rc))
		return rc;
	if (!heap_find(dptr, &block)) {
		struct pool_block pooled;

		if (!pool_find(dptr, &pooled))
			return CUDA_ERROR_NOT_FOUND;
		block.base = pooled.base;
		block.bytes = pooled.bytes;
	}
	if (pbase)
		*pbase = block.base;
	if (psize)
		*psize = block.bytes;
	return CUDA_SUCCESS;
}

CUAPI(cuMemGetAddressRange, (CUdeviceptr_v1 * pbase, unsigned int *psize, CUdeviceptr_v1 dptr),
      (pbase, psize, dptr))
{
	CUdeviceptr base = 0;
	size_t bytes = 0;
	const CUresult rc = INNER(cuMemGetAddressRange_v2)(&base, &bytes, dptr);

	if (!rc && pbase)
		*pbase = (CUdeviceptr_v1)base;
	if (!rc && psize)
		*psize = (unsigned int)bytes;
	return rc;
}

CUAPI(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total))
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);
	uint64_t bytes, used;

	if (!context)
		return rc;
	account_reap(&sim.account, false);
	bytes = config_get()->card[context->card].bytes;
	used = account_used(&sim.account, context->card);
	if (free_bytes)
		*free_bytes = used < bytes ? bytes - used : 0;
	if (total)
		*total = bytes;
	return CUDA_SUCCESS;
}

CUAPI(cuMemGetInfo, (unsigned int *free_bytes, unsigned int *total), (free_bytes, total))
{
	size_t f = 0, t = 0;
	const CUresult rc = INNER(cuMemGetInfo_v2)(&f, &t);

	if (rc)
		return rc;
	if (free_bytes)
		*free_bytes = f > UINT32_MAX ? UINT32_MAX : (unsigned int)f;
	if (total)
		*total = t > UINT32_MAX ? UINT32_MAX : (unsigned int)t;
	return CUDA_SUCCESS;
}
