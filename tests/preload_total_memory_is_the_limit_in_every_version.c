/* cuDeviceTotalMem and cuMemGetInfo, 32 and 64 bits wide, and NVML show min(limit, physical), for
 * any form of limit. */
#include "client.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static unsigned saturated(unsigned long long bytes)
{
	return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

static int child(unsigned long long want)
{
	size_t total2 = 0, free2 = 0;
	unsigned total1 = 0, free1 = 0;
	nvmlMemory_v2_t memory2 = {.version = nvmlMemory_v2};
	nvmlMemory_t memory1;
	nvmlDevice_t handle;
	CUdevice device;
	CUuuid uuid;
	char name[64] = "GPU-";

	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total2, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total2, device), CUDA_SUCCESS);
	CHECK_EQ(total2, want);
	CHECK_EQ(CU(cuDeviceTotalMem)(&total1, device), CUDA_SUCCESS);
	CHECK_EQ(total1, saturated(want));
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(NULL, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total2, 7), CUDA_ERROR_INVALID_DEVICE);
	context_now(0);
	CHECK_EQ(CU(cuMemGetInfo_v2)(&free2, &total2), CUDA_SUCCESS);
	CHECK_EQ(total2, want);
	CHECK_EQ(CU(cuMemGetInfo)(&free1, &total1), CUDA_SUCCESS);
	CHECK_EQ(total1, saturated(want));
	CHECK_EQ(free1, saturated(free2));

	CHECK_EQ(CU(cuDeviceGetUuid)(&uuid, device), CUDA_SUCCESS);
	for (int i = 0; i < 16; i++) {
		const bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		sprintf(name + strlen(name), "%s%02hhx", dash ? "-" : "", uuid.bytes[i]);
	}
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(name, &handle), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(handle, &memory1), NVML_SUCCESS);
	CHECK_EQ(memory1.total, want);
	CHECK_EQ(memory1.free, free2);
	CHECK_EQ(memory1.used, want - free2);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(handle, &memory2), NVML_SUCCESS);
	CHECK_EQ(memory2.total, want);
	CHECK_EQ(memory2.free, free2);
	CHECK_EQ(memory2.used, want - free2);
	CHECK_EQ(memory2.reserved, 0ull);
	CHECK_EQ(memory2.version, nvmlMemory_v2);
	return 0;
}

/* Ordinal 0 is the second card of NVML, of 16 GiB. */
static void expect(const char *limit, unsigned long long want)
{
	char setting[128], number[32];
	const char *const env[] = {setting, NULL};
	const char *const self[] = {"/proc/self/exe", number, NULL};
	struct client c;

	snprintf(setting, sizeof(setting), "CUQUOTA_MEMORY_LIMIT=%s", limit);
	snprintf(number, sizeof(number), "%llu", want);
	c = client_capped(self, env);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("with %s", setting);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	setenv("SIMGPU_RESERVED", "274M", 1);
	if (argc > 1)
		return child(strtoull(argv[1], NULL, 10));
	expect("2G", 2 * GIB);
	expect("4G", 4 * GIB);
	expect("6G", 6 * GIB);
	expect("50%", 8 * GIB);
	expect("64G", 16 * GIB);
	expect("0=3G,1=5G", 5 * GIB);
	expect("0=3G,*=7G", 7 * GIB);
	return 0;
}
