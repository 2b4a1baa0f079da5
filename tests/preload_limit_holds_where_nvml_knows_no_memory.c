/*
 * report: CP-08
 * A machine of unified memory, where NVML answers NOT_SUPPORTED for the memory of a card and the
 * driver knows its total: a limit in bytes and one in percent of that total hold, also in the order
 * of a visible list, and NVML's answer stays what it is.
 */
#include "client.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void nvml_stays_silent(void)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2, .used = 77};
	nvmlMemory_t first = {.used = 77};
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &first), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(device, &second), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(first.used, 77ull);
	CHECK_EQ(second.used, 77ull);
}

static int child(unsigned long long limit)
{
	size_t free_bytes, total;
	CUdeviceptr p, q;

	nvml_stays_silent();
	context_now(0);
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
	CHECK_EQ((unsigned long long)total, limit);
	CHECK_EQ(CU(cuMemGetInfo_v2)(&free_bytes, &total), CUDA_SUCCESS);
	CHECK_EQ((unsigned long long)total, limit);
	CHECK_LE((unsigned long long)free_bytes, limit - 300 * MIB);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, free_bytes), CUDA_SUCCESS);
	CHECK_EQ((unsigned long long)free_now(), 0ull);
	CHECK_EQ(CU(cuMemAlloc_v2)(&q, 4 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	CHECK_EQ((unsigned long long)free_now(), (unsigned long long)free_bytes);
	nvml_stays_silent();
	return 0;
}

static void expect(const char *limit, const char *visible, unsigned long long bytes)
{
	char want[32], setting[64], tenant[64];
	const char *const self[] = {"/proc/self/exe", want, NULL};
	const char *const env[] = {
		setting, tenant, visible,
		"SIMGPU_FAULT=nvmlDeviceGetMemoryInfo@*:3,nvmlDeviceGetMemoryInfo_v2@*:3",
		"CUQUOTA_LOG=off", NULL};
	struct client c;

	snprintf(want, sizeof(want), "%llu", bytes);
	snprintf(setting, sizeof(setting), "CUQUOTA_MEMORY_LIMIT=%s", limit);
	/* Each a tenant of its own: what one that just ended held may be shown for 50 ms. */
	snprintf(tenant, sizeof(tenant), "CUQUOTA_TENANT=%s of %s", limit, visible);
	c = client_capped(self, env);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("with a limit of %s and %s", limit, visible);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "24G,4G", 1);
	setenv("SIMGPU_CUDA_ORDER", "pci", 1);
	if (argc > 1)
		return child(strtoull(argv[1], NULL, 10));
	expect("2G", "CUQUOTA_VISIBLE_DEVICES", 2 * GIB);
	expect("25%", "CUQUOTA_VISIBLE_DEVICES", 6 * GIB);
	expect("50%", "CUQUOTA_VISIBLE_DEVICES=1", 2 * GIB);
	expect("0=50%,*=1G", "CUQUOTA_VISIBLE_DEVICES=1", 2 * GIB);
	return 0;
}
