/*
 * Memory by handle in a locality domain is charged to the device of that domain, and a place that
 * only a later driver may know is refused under a limit. The simulated driver, asked at all,
 * answers with a code of its own.
 */
#include "client.h"

#define MIB (1ull << 20)

static CUresult create(int type, unsigned char device, size_t bytes)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = (CUmemLocationType)type}};
	CUmemGenericAllocationHandle handle;

	prop.location.localized.deviceId = device;
	if (type != CU_MEM_LOCATION_TYPE_DEVICE)
		prop.location.localized.localityDomainId = 1;
	return CU(cuMemCreate)(&handle, bytes, &prop, 0);
}

int main(int argc, char **argv)
{
	/* Ordinal 1 is the first of NVML's. */
	const char *const env[] = {"SIMGPU_DEVICES=24G,16G", "CUQUOTA_MEMORY_LIMIT=0=64M,1=8G",
				   "CUQUOTA_LOG=off", "SIMGPU_FAULT=cuMemCreate@*:719", NULL};

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_DEVICE, 1, 128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 1, 128 * MIB),
		 CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 1, 32 * MIB),
		 CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0, 128 * MIB),
		 CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_HOST, 0, 128 * MIB), CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN + 1, 0, 2 * MIB),
		 CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(create(0x7ffffffe, 0, 2 * MIB), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(create(-1, 0, 2 * MIB), CUDA_ERROR_NOT_SUPPORTED);
	return 0;
}
