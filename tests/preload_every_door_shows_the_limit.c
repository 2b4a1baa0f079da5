/*
 * report: WN-04
 * A limit of 8 GiB on a card of 24 GiB, seen as a runtime reads it at its start and as nvidia-smi
 * does: the total is 8 GiB by every door, before the start of CUDA, before a context and after, and
 * once memory is taken; and by it a greedy engine that takes nine tenths of it gets it.
 */
#include "nvml_lists.h"
#include "surfaces.h"

#define GIB (1ull << 30)

/* As nvidia-smi goes through the cards. */
static struct surface dump(void)
{
	struct surface shown = {0};
	struct listed listed;
	nvmlDevice_t handle;
	unsigned count;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(count, 2u);
	for (unsigned i = count; i--;) {
		nvmlUtilization_t utilization;
		nvmlBAR1Memory_t window;
		char name[96];

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &handle), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetName)(handle, name, sizeof(name)), NVML_SUCCESS);
		shown = surface_nvml(handle);
		CHECK_EQ(shown.total, 8 * GIB);
		/* Not memory that can be had: as the card says. */
		CHECK_EQ(ML(nvmlDeviceGetBAR1MemoryInfo)(handle, &window), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUtilizationRates)(handle, &utilization), NVML_SUCCESS);
		list_read(LIST_V3, handle, &listed);
		CHECK_EQ(listed.count, (unsigned)(shown.used != 0));
		if (shown.used)
			CHECK_EQ(listed_bytes(&listed, (unsigned)getpid()), (uint64_t)shown.used);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	return shown;
}

/* As a runtime fills its properties of each device. */
static void properties(void)
{
	int count = 0;

	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 2);
	for (int i = 0; i < count; i++) {
		CUdevice device;

		CHECK_EQ(CU(cuDeviceGet)(&device, i), CUDA_SUCCESS);
		surface_total(device, 8 * GIB);
	}
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=2x24G", "SIMGPU_CUDA_ORDER=pci",
				   "CUQUOTA_MEMORY_LIMIT=8G", NULL};
	struct surface shown;
	CUdeviceptr p;

	start_capped(argv, env);
	CHECK_EQ(dump().used, 0ull);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	properties();
	CHECK_EQ(dump().used, 0ull);
	context_now(0);
	properties();
	shown = dump();
	CHECK_NE(shown.used, 0ull);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, shown.total / 10 * 9), CUDA_SUCCESS);
	CHECK_GE(dump().used, shown.total / 10 * 9);
	shown = surface_all(0, surface_handle(0));
	CHECK_EQ(shown.total, 8 * GIB);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, shown.free + 1), CUDA_ERROR_OUT_OF_MEMORY);
	return 0;
}
