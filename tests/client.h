/*
 * For tests that are programs under the preload: the driver's and NVML's functions as a program
 * finds them, by dlsym at each call, typed by NVIDIA's headers under the names that are exported.
 */
#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include "helper.h"

#include <dlfcn.h>
#include <stdbool.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wsign-compare" /* codes are unsigned, their names are not */

TEST_USED static void *symbol_of(const char *library, const char *name)
{
	void *const handle = dlopen(library, RTLD_NOW);
	void *const symbol = handle ? dlsym(handle, name) : NULL;

	if (!symbol)
		FAIL("%s: %s", name, dlerror());
	return symbol;
}

/* CU(cuMemAlloc_v2)(&p, bytes) */
#define CU(name) ((__typeof__(&name))symbol_of("libcuda.so.1", #name))
#define ML(name) ((__typeof__(&name))symbol_of("libnvidia-ml.so.1", #name))

/*
 * Starts this very program anew under the preload and with `env` ("NAME=value" sets, "NAME"
 * unsets), once: in the new program it returns at once.
 */
TEST_USED static void start_capped(char **argv, const char *const env[])
{
	if (getenv("TEST_STARTED"))
		return;
	for (; env && *env; env++)
		if (strchr(*env, '='))
			putenv(strdup(*env));
		else
			unsetenv(*env);
	setenv("TEST_STARTED", "1", 1);
	putenv(strdup(preload_of("libcuquota.so")));
	execv("/proc/self/exe", argv);
	FAIL("exec: %s", strerror(errno));
}

/* The figures that the program is shown; a context is current. */
TEST_USED static size_t free_now(void)
{
	size_t bytes = 0, total = 0;

	CHECK_EQ(CU(cuMemGetInfo_v2)(&bytes, &total), CUDA_SUCCESS);
	return bytes;
}

TEST_USED static size_t total_now(void)
{
	size_t bytes = 0, total = 0;

	CHECK_EQ(CU(cuMemGetInfo_v2)(&bytes, &total), CUDA_SUCCESS);
	return total;
}

/* Starts the driver and makes device `ordinal`'s primary context current. */
TEST_USED static CUcontext context_now(int ordinal)
{
	CUdevice device;
	CUcontext context;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGet)(&device, ordinal), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	return context;
}

#endif
