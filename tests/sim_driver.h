/*
 * For the tests of the simulated driver: its functions by dlopen, so that a forked client loads it
 * with settings of its own (setenv before driver_load). The parent must not have loaded it.
 */
#ifndef TESTS_SIM_DRIVER_H
#define TESTS_SIM_DRIVER_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "helper.h"
#include "simgpu/truth.h"

/* CUresult is unsigned here, and its values are constants of int. */
#pragma GCC diagnostic ignored "-Wsign-compare"

#define MIB (1024 * 1024LL)
#define GIB (1024 * MIB)

/* One list, packed by hand. */
/* clang-format off */
#define DRIVER_NAMES(X) \
	X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) \
	X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem_v2) \
	X(cuDeviceGetPCIBusId) X(cuDeviceGetByPCIBusId) X(cuCtxCreate) X(cuCtxCreate_v2) \
	X(cuCtxCreate_v3) X(cuCtxCreate_v4) X(cuCtxDestroy_v2) X(cuCtxAttach) \
	X(cuCtxDetach) X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuCtxSetCurrent) \
	X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) \
	X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2) \
	X(cuDevicePrimaryCtxReset_v2) X(cuDevicePrimaryCtxGetState) X(cuMemAlloc) \
	X(cuMemAlloc_v2) X(cuMemFree) X(cuMemFree_v2) X(cuMemAllocPitch_v2) \
	X(cuMemAllocManaged) X(cuMemGetInfo) X(cuMemGetInfo_v2) \
	X(cuMemGetAddressRange_v2) X(cuMemsetD8_v2) X(cuMemsetD32_v2) X(cuMemcpyHtoD_v2) \
	X(cuMemcpyDtoH_v2) X(cuMemcpyDtoD_v2) X(cuMemcpy2D_v2) X(cuMemHostAlloc) \
	X(cuMemFreeHost) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) \
	X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) \
	X(cuMemRetainAllocationHandle) X(cuMemGetAllocationGranularity) X(cuStreamCreate) \
	X(cuStreamSynchronize) X(cuEventCreate) X(cuEventRecord) X(cuEventElapsedTime) \
	X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel) \
	X(cuPointerGetAttribute) X(cuGetErrorName) X(cuGetErrorString) \
	X(cuGetProcAddress) X(cuGetProcAddress_v2) X(cuGetExportTable) X(cuMemAllocAsync) \
	X(cuTexRefSetFlags)
/* clang-format on */

static struct {
#define X(name) __typeof__(&name) name;
	DRIVER_NAMES(X)
#undef X
} cu;

TEST_USED static void *driver_load_from(const char *file)
{
	void *const handle = dlopen(built(file), RTLD_NOW);

	if (!handle)
		FAIL("%s", dlerror());
#define X(name)                                            \
	cu.name = (__typeof__(&name))dlsym(handle, #name); \
	CHECK(cu.name);
	DRIVER_NAMES(X)
#undef X
	return handle;
}

TEST_USED static void *driver_load(void)
{
	return driver_load_from("simgpu/libcuda.so.1");
}

/* Loads, initialises, and makes the primary context of device 0 current. */
TEST_USED static CUcontext driver_start(const char *tag)
{
	CUcontext context;

	if (tag)
		setenv("SIMGPU_TAG", tag, 1);
	driver_load();
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	return context;
}

/* Settings that most tests want: one card, contexts that cost nothing. Before any client starts. */
TEST_USED static void one_card(const char *devices)
{
	setenv("SIMGPU_DEVICES", devices, 1);
	setenv("SIMGPU_CONTEXT", "0", 1);
}

#endif
