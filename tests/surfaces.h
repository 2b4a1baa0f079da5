/*
 * What a process is shown of a device's memory, through every door that shows it: CUDA's total and
 * free memory in both widths, also as the resolver hands them out, and both of NVML's structures,
 * with what lies behind each. All must say the same.
 */
#ifndef TESTS_SURFACES_H
#define TESTS_SURFACES_H

#include "client.h"

struct surface {
	unsigned long long total, free, used;
};

#define SURFACE_CANARY 0x5a

TEST_USED static unsigned surface_narrow(unsigned long long bytes)
{
	return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

TEST_USED static void *surface_resolved(const char *name, int version)
{
	void *found = NULL;

	CHECK_EQ(CU(cuGetProcAddress_v2)(name, &found, version, 0, NULL), CUDA_SUCCESS);
	CHECK(found);
	return found;
}

/* NVML's two structures; nothing behind either is touched. */
TEST_USED static struct surface surface_nvml(nvmlDevice_t device)
{
	struct {
		nvmlMemory_v2_t memory;
		unsigned char behind[64];
	} second = {.memory = {.version = nvmlMemory_v2}};
	struct {
		nvmlMemory_t memory;
		unsigned char behind[64];
	} first;
	const unsigned char canary[64] = {[0 ... 63] = SURFACE_CANARY};

	memset(&first, SURFACE_CANARY, sizeof(first));
	memcpy(second.behind, canary, sizeof(canary));
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &first.memory), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(device, &second.memory), NVML_SUCCESS);
	CHECK(!memcmp(first.behind, canary, sizeof(canary)));
	CHECK(!memcmp(second.behind, canary, sizeof(canary)));
	CHECK_EQ(second.memory.version, nvmlMemory_v2);
	CHECK_EQ(first.memory.total, second.memory.total);
	CHECK_EQ(first.memory.free, second.memory.free);
	CHECK_EQ(first.memory.used, second.memory.used);
	CHECK_EQ(second.memory.reserved, 0ull);
	CHECK_LE(first.memory.used, first.memory.total);
	CHECK_LE(first.memory.free, first.memory.total - first.memory.used);
	return (struct surface){first.memory.total, first.memory.free, first.memory.used};
}

/* The total of CUDA, which needs no context. */
TEST_USED static void surface_total(CUdevice device, unsigned long long want)
{
	__typeof__(&cuDeviceTotalMem_v2) resolved = surface_resolved("cuDeviceTotalMem", 3020);
	__typeof__(&cuDeviceTotalMem) resolved_first = surface_resolved("cuDeviceTotalMem", 2000);
	unsigned narrow = 0;
	size_t total = 0;

	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total, device), CUDA_SUCCESS);
	CHECK_EQ(total, want);
	CHECK_EQ(CU(cuDeviceTotalMem)(&narrow, device), CUDA_SUCCESS);
	CHECK_EQ(narrow, surface_narrow(want));
	total = narrow = 0;
	CHECK_EQ(resolved(&total, device), CUDA_SUCCESS);
	CHECK_EQ(total, want);
	CHECK_EQ(resolved_first(&narrow, device), CUDA_SUCCESS);
	CHECK_EQ(narrow, surface_narrow(want));
}

/* Everything of the current context's device. Its NVML handle is `handle`. */
TEST_USED static struct surface surface_all(CUdevice device, nvmlDevice_t handle)
{
	const struct surface shown = surface_nvml(handle);
	__typeof__(&cuMemGetInfo_v2) resolved = surface_resolved("cuMemGetInfo", 3020);
	__typeof__(&cuMemGetInfo) resolved_first = surface_resolved("cuMemGetInfo", 2000);
	unsigned narrow_free = 0, narrow_total = 0;
	size_t free_bytes = 0, total = 0;

	surface_total(device, shown.total);
	for (int way = 0; way < 2; way++) {
		CHECK_EQ((way ? resolved : CU(cuMemGetInfo_v2))(&free_bytes, &total), CUDA_SUCCESS);
		CHECK_EQ(total, shown.total);
		CHECK_EQ(free_bytes, shown.free);
		CHECK_EQ((way ? resolved_first : CU(cuMemGetInfo))(&narrow_free, &narrow_total),
			 CUDA_SUCCESS);
		CHECK_EQ(narrow_total, surface_narrow(shown.total));
		CHECK_EQ(narrow_free, surface_narrow(shown.free));
	}
	return shown;
}

/* NVML's handle of a card by its index. */
TEST_USED static nvmlDevice_t surface_handle(unsigned index)
{
	nvmlDevice_t handle = NULL;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(index, &handle), NVML_SUCCESS);
	return handle;
}

#endif
