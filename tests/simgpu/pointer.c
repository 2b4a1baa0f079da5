/*
 * What can be asked of an address; hints for managed memory.
 */
#include "heap.h"
#include "pool.h"
#include "range.h"

#include <string.h>

struct answer {
	CUdeviceptr base;
	size_t bytes;
	struct context *context;
	int card; /* -1: host */
	bool managed;
	CUmemoryPool pool;
	uint64_t id;
};

static bool look_up(const CUdeviceptr ptr, struct answer *answer)
{
	struct pool_block pooled;
	struct host_block host;
	struct block block;

	memset(answer, 0, sizeof(*answer));
	if (heap_find(ptr, &block)) {
		answer->base = block.base;
		answer->bytes = block.bytes;
		answer->context = block.context;
		answer->card = (int)block.context->card;
		answer->managed = block.managed;
		answer->id = block.id;
		return true;
	}
	if (pool_find(ptr, &pooled)) {
		answer->base = pooled.base;
		answer->bytes = pooled.bytes;
		answer->card = pooled.pool->card;
		answer->pool = (CUmemoryPool)pooled.pool;
		answer->id = pooled.id;
		return true;
	}
	if (vmm_find(ptr, &answer->base, &answer->bytes, &answer->card))
		return true;
	if (!host_find((const void *)ptr, &host))
		return false;
	answer->base = (CUdeviceptr)host.base;
	answer->bytes = host.bytes;
	answer->context = host.context;
	answer->card = -1;
	return true;
}

static CUresult answer_one(void *data, const CUpointer_attribute attribute, const CUdeviceptr ptr,
			   const struct answer *a)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)a->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = a->card < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (a->card >= 0 && !a->managed)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = a->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = a->managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = a->card < 0 ? -2 : device_of_card((unsigned int)a->card);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = a->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = a->bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned int *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = a->pool;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUAPI(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
      (data, attribute, ptr))
{
	struct answer answer;

	if (!data || !look_up(ptr, &answer))
		return CUDA_ERROR_INVALID_VALUE;
	return answer_one(data, attribute, ptr, &answer);
}

CUAPI(cuPointerGetAttributes,
      (unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr),
      (numAttributes, attributes, data, ptr))
{
	struct answer answer;
	bool known;
	unsigned int i;

	if (!numAttributes || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	known = look_up(ptr, &answer);
	/* For an address of nobody's every answer is a null value [D]. */
	for (i = 0; i < numAttributes; i++) {
		if (known && !answer_one(data[i], attributes[i], ptr, &answer))
			continue;
		if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2;
		else if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
			 attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
			 attributes[i] == CU_POINTER_ATTRIBUTE_MAPPED)
			*(unsigned int *)data[i] = 0;
		else
			*(uint64_t *)data[i] = 0;
	}
	return CUDA_SUCCESS;
}

static CUresult check_managed(const CUdeviceptr ptr, const size_t count)
{
	struct block block;
	CUresult rc = CUDA_SUCCESS;

	if (!context_current(&rc))
		return rc;
	if (!heap_find(ptr, &block) || !block.managed ||
	    count > block.bytes - (ptr - block.base))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUAPI(cuMemPrefetchAsync, (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream),
      (devPtr, count, dstDevice, hStream))
{
	return check_managed(devPtr, count);
}

CUAPI(cuMemPrefetchAsync_v2,
      (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
       CUstream hStream),
      (devPtr, count, location, flags, hStream))
{
	return check_managed(devPtr, count);
}

CUAPI(cuMemAdvise, (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device),
      (devPtr, count, advice, device))
{
	return check_managed(devPtr, count);
}

CUAPI(cuMemAdvise_v2,
      (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location),
      (devPtr, count, advice, location))
{
	return check_managed(devPtr, count);
}
