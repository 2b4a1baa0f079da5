/*
 * Calls of the calls' target that cannot succeed: with NULL to write to, and of the families that
 * are not charged yet.
 */
#ifndef TESTS_FUZZ_CALLS_ODD_H
#define TESTS_FUZZ_CALLS_ODD_H

#include "calls_world.h"

UNGUIDED

static void with_nothing(uint64_t which, CUdeviceptr reserved)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr pointer;
	size_t pitch;

	switch (which % 12) {
	case 0:
		CHECK_NE(cuMemAlloc_v2(NULL, GRAIN), CUDA_SUCCESS);
		break;
	case 1:
		CHECK_NE(cuMemAllocPitch_v2(NULL, &pitch, 512, 4, 4), CUDA_SUCCESS);
		break;
	case 2:
		CHECK_NE(cuMemAllocPitch_v2(&pointer, NULL, 512, 4, 4), CUDA_SUCCESS);
		break;
	case 3:
		CHECK_NE(cuMemAllocManaged(NULL, GRAIN, 1), CUDA_SUCCESS);
		break;
	case 4:
		CHECK_NE(cuMemCreate(NULL, GRAIN, &prop, 0), CUDA_SUCCESS);
		break;
	case 5:
		CHECK_NE(cuMemCreate(&handle, GRAIN, NULL, 0), CUDA_SUCCESS);
		break;
	case 6:
		CHECK_NE(cuMemRetainAllocationHandle(NULL, (void *)reserved), CUDA_SUCCESS);
		break;
	case 7:
		CHECK_NE(cuCtxCreate_v2(NULL, 0, 0), CUDA_SUCCESS);
		break;
	case 8:
		CHECK_NE(cuDevicePrimaryCtxRetain(NULL, 0), CUDA_SUCCESS);
		break;
	case 9:
		cuMemGetInfo_v2(NULL, NULL);
		break;
	case 10:
		CHECK_NE(cuDeviceTotalMem_v2(NULL, 0), CUDA_SUCCESS);
		break;
	default:
		CHECK_NE(cuMemAlloc(NULL, 4096), CUDA_SUCCESS);
	}
}

/* Under a limit none of these is had, but for the first. */
static void uncharged(uint64_t which, uint64_t bytes)
{
	const CUDA_ARRAY_DESCRIPTOR array = {bytes, 4, CU_AD_FORMAT_FLOAT, 1};
	CUdeviceptr pointer;
	CUarray made;

	switch (which % 4) {
	case 0:
		if (cuMemAllocAsync(&pointer, bytes, NULL) != CUDA_SUCCESS)
			break;
		CHECK_EQ(cuMemFreeAsync(pointer, NULL), CUDA_SUCCESS);
		CHECK_EQ(cuStreamSynchronize(NULL), CUDA_SUCCESS);
		break;
	case 1:
		CHECK_NE(cuArrayCreate_v2(&made, &array), CUDA_SUCCESS);
		break;
	case 2:
		CHECK_NE(cuMemAllocFromPoolAsync(&pointer, bytes, NULL, NULL), CUDA_SUCCESS);
		break;
	default:
		cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes);
	}
}

GUIDED

#endif
