/*
 * The driver fails to make the context: nothing is charged. It fails to release it: the charge
 * stays. A release without a retain changes nothing.
 *
 * report: AC-05
 */
#include "client.h"
#include "simgpu/truth.h"

static size_t used(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	return memory.used;
}

int main(int argc, char **argv)
{
	const char *const env[] =
		{"CUQUOTA_MEMORY_LIMIT=2G",
		 "SIMGPU_DEVICES=24G",
		 "SIMGPU_CONTEXT=300M",
		 "SIMGPU_TAG=t",
		 "SIMGPU_FAULT=cuDevicePrimaryCtxRetain@1:999,cuDevicePrimaryCtxRelease_v2@2:999,"
		 "cuCtxCreate_v2@1:2",
		 NULL};
	const size_t cost = (300 << 20) + (2 << 20);
	CUcontext context;

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_UNKNOWN);
	CHECK_EQ(used(), (size_t)0);
	CHECK_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(used(), (size_t)0);
	CHECK_NE(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
	CHECK_EQ(used(), (size_t)0);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(used(), cost);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_UNKNOWN);
	CHECK_EQ(used(), cost);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
	CHECK_EQ(used(), (size_t)0);
	CHECK_EQ(truth_held(NULL, 0, "t"), (int64_t)0);
	return 0;
}
