/*
 * 100, 300, 600 and 400 MiB more: after each allocation and a free out of the middle cuMemGetInfo,
 * NVML and `cuquota ps` show the same, and it is what was taken.
 *
 * report: AC-03
 */
#include "client.h"

#define MIB (1ull << 20)

static size_t by_nvml(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	return memory.used;
}

/* The tenant's line of `cuquota ps --json`: there is one device and one tenant. */
static size_t by_ps(void)
{
	char command[PATH_MAX + 64], text[8192] = {0};
	const char *at;
	FILE *pipe;

	snprintf(command, sizeof(command), "LD_PRELOAD= %s ps --json", built("cuquota"));
	pipe = popen(command, "r");
	CHECK(pipe);
	CHECK(fread(text, 1, sizeof(text) - 1, pipe) > 0);
	CHECK_EQ(pclose(pipe), 0);
	at = strstr(text, "\"tenants\"");
	at = at ? strstr(at, "\"used\":") : NULL;
	if (!at)
		FAIL("cuquota ps says %s", text);
	return strtoull(at + strlen("\"used\":"), NULL, 10);
}

static void expect(const char *what, size_t baseline, size_t mib)
{
	const size_t want = baseline + mib * MIB;

	if (total_now() - free_now() != want || by_nvml() != want || by_ps() != want)
		FAIL("%s: cuMemGetInfo shows %zu, NVML %zu, ps %zu, want %zu", what,
		     total_now() - free_now(), by_nvml(), by_ps(), want);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "SIMGPU_DEVICES=24G", NULL};
	CUdeviceptr first, second, third;
	size_t baseline;

	start_capped(argv, env);
	context_now(0);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	baseline = total_now() - free_now();
	expect("with the context", baseline, 0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&first, 100 * MIB), CUDA_SUCCESS);
	expect("after the first", baseline, 100);
	CHECK_EQ(CU(cuMemAlloc_v2)(&second, 200 * MIB), CUDA_SUCCESS);
	expect("after the second", baseline, 300);
	CHECK_EQ(CU(cuMemAlloc_v2)(&third, 300 * MIB), CUDA_SUCCESS);
	expect("after the third", baseline, 600);
	CHECK_EQ(CU(cuMemFree_v2)(second), CUDA_SUCCESS);
	expect("after the free in the middle", baseline, 400);
	CHECK_EQ(CU(cuMemFree_v2)(second), CUDA_ERROR_INVALID_VALUE);
	expect("after a free that the driver refuses", baseline, 400);
	return 0;
}
