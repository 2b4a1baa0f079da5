/*
 * A memory pool takes of its card what it reserves: steps where what is free in it does not do. It
 * gives back beyond its threshold when something is waited for, at a trim beyond what is to be
 * kept, and at its end, for which blocks that are still there are waited for.
 */
#include "client.h"
#include "simgpu/truth.h"

#define MIB (1024 * 1024LL)
#define STEP (48 * MIB)

static CUdevice device;

static int64_t held(void)
{
	return truth_held(NULL, 0, "");
}

static cuuint64_t figure(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	cuuint64_t value = 0;

	CHECK_EQ(CU(cuMemPoolGetAttribute)(pool, attribute, &value), CUDA_SUCCESS);
	return value;
}

/* Reserved and used are these, and the card has it so. */
static void expect(CUmemoryPool pool, long long reserved, long long used)
{
	CHECK_EQ(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved);
	CHECK_EQ(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used);
	CHECK_EQ(held(), reserved);
}

static void set_threshold(CUmemoryPool pool, cuuint64_t bytes)
{
	CHECK_EQ(CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes),
		 CUDA_SUCCESS);
}

static void of_the_default_pool(void)
{
	CUmemoryPool pool, now;
	CUdeviceptr a, b, found = 0;
	CUevent event;
	size_t bytes = 0;
	unsigned value = 0;

	CHECK_EQ(CU(cuDeviceGetDefaultMemPool)(&pool, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetMemPool)(&now, device), CUDA_SUCCESS);
	CHECK(pool == now);
	CHECK_EQ(CU(cuMemPoolDestroy)(pool), CUDA_ERROR_INVALID_VALUE);
	expect(pool, 0, 0);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 1000, NULL), CUDA_SUCCESS);
	expect(pool, STEP, 1024);
	CHECK_EQ(CU(cuMemAllocAsync)(&b, 40 * MIB, NULL), CUDA_SUCCESS);
	expect(pool, STEP, 40 * MIB + 1024);
	CHECK_EQ(CU(cuMemsetD8_v2)(b + 40 * MIB - 1, 7, 1), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemsetD8_v2)(b + 40 * MIB - 1, 7, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuMemcpyDtoH_v2)(&value, b + 40 * MIB - 1, 1), CUDA_SUCCESS);
	CHECK_EQ(value, 7);
	CHECK_EQ(CU(cuMemGetAddressRange_v2)(&found, &bytes, b + 5), CUDA_SUCCESS);
	CHECK_EQ(found, b);
	CHECK_EQ(bytes, 40 * MIB);
	CHECK_EQ(CU(cuPointerGetAttribute)(&now, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, b),
		 CUDA_SUCCESS);
	CHECK(now == pool);
	CHECK_EQ(CU(cuMemFreeAsync)(b + 512, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuMemFreeAsync)(b, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFreeAsync)(b, NULL), CUDA_ERROR_INVALID_VALUE);
	expect(pool, STEP, 1024);
	CHECK_EQ(CU(cuMemAllocAsync)(&b, 100 * MIB, NULL), CUDA_SUCCESS);
	expect(pool, 3 * STEP, 100 * MIB + 1024);
	CHECK_EQ(CU(cuMemFree_v2)(b), CUDA_SUCCESS);
	expect(pool, 3 * STEP, 1024);
	set_threshold(pool, STEP);
	CHECK_EQ(CU(cuStreamSynchronize)(NULL), CUDA_SUCCESS);
	expect(pool, STEP, 1024);
	set_threshold(pool, 0);
	CHECK_EQ(CU(cuEventCreate)(&event, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuEventSynchronize)(event), CUDA_SUCCESS);
	expect(pool, 2 * MIB, 1024);
	CHECK_EQ(CU(cuMemFreeAsync)(a, NULL), CUDA_SUCCESS);
	expect(pool, 2 * MIB, 0);
	CHECK_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
	expect(pool, 0, 0);
	CHECK_EQ(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 3 * STEP);
	CHECK_EQ(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 100 * MIB + 1024);
	/* What cuMemAlloc gave may be freed in stream order. */
	CHECK_EQ(CU(cuMemAlloc_v2)(&a, 10 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFreeAsync)(a, NULL), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
}

static CUmemoryPool make(CUmemLocationType type, int id, size_t most)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = {.type = type, .id = id},
				      .maxSize = most};
	CUmemoryPool pool;

	CHECK_EQ(CU(cuMemPoolCreate)(&pool, &props), CUDA_SUCCESS);
	return pool;
}

static void of_pools_of_ones_own(void)
{
	CUmemoryPool pool = make(CU_MEM_LOCATION_TYPE_DEVICE, device, 0), other, now;
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
	CUdeviceptr a, b;

	CHECK_EQ(CU(cuMemAllocFromPoolAsync)(&a, 100 * MIB, pool, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocFromPoolAsync)(&b, 50 * MIB, pool, NULL), CUDA_SUCCESS);
	expect(pool, 4 * STEP, 150 * MIB);
	CHECK_EQ(CU(cuMemFreeAsync)(a, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemPoolTrimTo)(pool, 120 * MIB), CUDA_SUCCESS);
	expect(pool, 120 * MIB, 50 * MIB);
	CHECK_EQ(CU(cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
	expect(pool, 50 * MIB, 50 * MIB);
	/* It lives until its last block is freed. */
	CHECK_EQ(CU(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemPoolTrimTo)(pool, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuMemAllocFromPoolAsync)(&a, MIB, pool, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(held(), 50 * MIB);
	CHECK_EQ(CU(cuMemFreeAsync)(b, NULL), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);

	other = make(CU_MEM_LOCATION_TYPE_DEVICE, device, 64 * MIB);
	CHECK_EQ(CU(cuDeviceSetMemPool)(device, other), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemGetMemPool)(&now, &location, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
	CHECK(now == other);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 65 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 63 * MIB, NULL), CUDA_SUCCESS);
	expect(other, 64 * MIB, 63 * MIB);
	CHECK_EQ(CU(cuMemPoolDestroy)(other), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetMemPool)(&now, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetDefaultMemPool)(&pool, device), CUDA_SUCCESS);
	CHECK(now == pool);
	CHECK_EQ(CU(cuMemFree_v2)(a), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);

	pool = make(CU_MEM_LOCATION_TYPE_HOST, 0, 0);
	CHECK_EQ(CU(cuMemAllocFromPoolAsync)(&a, 100 * MIB, pool, NULL), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
	CHECK_EQ(CU(cuDeviceSetMemPool)(device, pool), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuMemFreeAsync)(a, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
}

/* Of a card that is nearly full a pool takes what there is. */
static void of_a_full_card(void)
{
	CUdeviceptr most, a;

	CHECK_EQ(CU(cuMemAlloc_v2)(&most, 1024 * MIB - 20 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 22 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 11 * MIB, NULL), CUDA_SUCCESS);
	CHECK_EQ(held(), 1024 * MIB - 20 * MIB + 12 * MIB);
	CHECK_EQ(CU(cuMemFree_v2)(most), CUDA_SUCCESS);
	/* A reset takes linear memory, and no pool. */
	CHECK_EQ(CU(cuDevicePrimaryCtxReset_v2)(device), CUDA_SUCCESS);
	context_now(0);
	CHECK_EQ(held(), 12 * MIB);
	CHECK_EQ(CU(cuMemFreeAsync)(a, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuStreamSynchronize)(NULL), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
}

int main(void)
{
	int value = 0;

	setenv("SIMGPU_DEVICES", "1G", 1);
	setenv("SIMGPU_CONTEXT", "0", 1);
	setenv("SIMGPU_POOL_STEP", "48M", 1);
	context_now(0);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
					  device),
		 CUDA_SUCCESS);
	CHECK_EQ(value, 1);
	of_the_default_pool();
	of_pools_of_ones_own();
	of_a_full_card();
	return 0;
}
