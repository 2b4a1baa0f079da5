/*
 * cuMemCreate takes memory from the device of its location, whatever context is
 * current; it is given back when the last of handle, retained handles and mappings is
 * gone. Host locations take none.
 */
#include "sim_driver.h"

static int64_t held(const unsigned device)
{
	return truth_held(NULL, device, "a");
}

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemAccessDesc access = {.location = prop.location,
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h, again, host;
	CUdeviceptr at, other;
	unsigned int value = 0;
	size_t grain;

	one_card("1G,2G"); /* in CUDA's order the second is ordinal 0 */
	driver_start("a");
	CHECK_EQ(cu.cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
		 CUDA_SUCCESS);
	CHECK_EQ(grain, 2 * MIB);
	CHECK_EQ(cu.cuMemCreate(&h, MIB, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemCreate(&h, 2 * GIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(held(0), 0);
	CHECK_EQ(cu.cuMemCreate(&h, 8 * MIB, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(held(0), 8 * MIB);
	CHECK_EQ(held(1), 0);
	CHECK_EQ(cu.cuMemAddressReserve(&at, 16 * MIB, 0, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAddressReserve(&other, 16 * MIB, 64 * MIB, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(other % (64 * MIB), 0);
	CHECK_EQ(cu.cuMemMap(at + 8 * MIB, 16 * MIB, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemMap(at, 8 * MIB, 0, h, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemMap(at, 8 * MIB, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemMap(other, 8 * MIB, 0, h, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemsetD32_v2(at, 1, 1), CUDA_ERROR_INVALID_VALUE); /* no access yet */
	CHECK_EQ(cu.cuMemSetAccess(at, 8 * MIB, &access, 1), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemSetAccess(other, 8 * MIB, &access, 1), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemsetD32_v2(at + 4096, 77, 100), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemcpyDtoH_v2(&value, other + 4096, 4), CUDA_SUCCESS);
	CHECK_EQ(value, 77); /* the same memory twice */
	CHECK_EQ(cu.cuMemRelease(h), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemMap(at + 8 * MIB, 8 * MIB, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(held(0), 8 * MIB);
	CHECK_EQ(cu.cuMemUnmap(at, 8 * MIB), CUDA_SUCCESS);
	CHECK_EQ(held(0), 8 * MIB);
	CHECK_EQ(cu.cuMemRetainAllocationHandle(&again, (void *)(other + MIB)), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemUnmap(other, MIB), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemAddressFree(other, 16 * MIB), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemUnmap(other, 8 * MIB), CUDA_SUCCESS);
	CHECK_EQ(held(0), 8 * MIB);
	CHECK_EQ(cu.cuMemRelease(again), CUDA_SUCCESS);
	CHECK_EQ(held(0), 0);
	CHECK_EQ(cu.cuMemAddressFree(at, 16 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAddressFree(other, 16 * MIB), CUDA_SUCCESS);
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	CHECK_EQ(cu.cuMemCreate(&host, 8 * MIB, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(held(0) + held(1), 0);
	CHECK_EQ(cu.cuMemRelease(host), CUDA_SUCCESS);
	/* A reset context takes nothing of it along. */
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK_EQ(cu.cuMemCreate(&h, 8 * MIB, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
	CHECK_EQ(held(0), 8 * MIB);
	return 0;
}
