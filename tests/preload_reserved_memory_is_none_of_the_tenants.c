/*
 * report: WN-09
 * A card that keeps 274 MiB for itself, under a limit of 3072 MiB: what is shown as reserved, used
 * and free is the total, which is the limit; and the whole limit can be had, so what the card keeps
 * is charged to nobody. The bare library tells it apart.
 */
#include "surfaces.h"

#define MIB (1ull << 20)

static int capped(void)
{
	const nvmlDevice_t handle = surface_handle(0);
	struct surface shown = surface_nvml(handle);
	CUdeviceptr p;

	CHECK_EQ(shown.total, 3072 * MIB);
	CHECK_EQ(shown.used, 0ull);
	CHECK_EQ(shown.free, 3072 * MIB);
	context_now(0);
	shown = surface_all(0, handle);
	CHECK_EQ(shown.used, 302 * MIB); /* context and spare grain */
	CHECK_EQ(shown.used + shown.free, shown.total);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, shown.free), CUDA_SUCCESS);
	shown = surface_all(0, handle);
	CHECK_EQ(shown.total, 3072 * MIB);
	CHECK_EQ(shown.used, shown.total);
	CHECK_EQ(shown.free, 0ull);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	return 0;
}

/* v1 counts what is reserved as used, v2 apart. */
static int bare(void)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	const nvmlDevice_t handle = surface_handle(0);
	nvmlMemory_t first;

	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(handle, &first), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(handle, &second), NVML_SUCCESS);
	CHECK_EQ(second.reserved, 274 * MIB);
	CHECK_EQ(first.total, second.total);
	CHECK_EQ(first.free, second.free);
	CHECK_EQ(first.used, second.used + second.reserved);
	CHECK_EQ(second.reserved + second.used + second.free, second.total);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "capped", NULL};
	const char *const free_self[] = {"/proc/self/exe", "bare", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=3072M", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "300M", 1);
	setenv("SIMGPU_RESERVED", "274M", 1);
	if (argc > 1)
		return strcmp(argv[1], "bare") ? capped() : bare();
	c = client_capped(self, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_start(free_self, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
