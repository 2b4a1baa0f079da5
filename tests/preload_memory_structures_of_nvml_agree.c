/*
 * report: WN-03
 * With a limit of 4 GiB and 1 GiB of it taken, NVML's two structures of memory and CUDA say the
 * same, what is used, free and reserved is the total, and what lies behind a structure is not
 * touched; so with each allocation and each free.
 */
#include "surfaces.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void shows(nvmlDevice_t handle, unsigned long long used)
{
	const struct surface shown = surface_all(0, handle);

	CHECK_EQ(shown.total, 4 * GIB);
	CHECK_EQ(shown.used, used);
	CHECK_EQ(shown.used + shown.free, shown.total);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=300M",
				   "CUQUOTA_MEMORY_LIMIT=4G", NULL};
	CUdeviceptr p[4];

	start_capped(argv, env);
	const nvmlDevice_t handle = surface_handle(0);
	const struct surface before = surface_nvml(handle);

	CHECK_EQ(before.total, 4 * GIB);
	CHECK_EQ(before.used, 0ull);
	CHECK_EQ(before.free, 4 * GIB);
	context_now(0);
	shows(handle, 302 * MIB); /* context and spare grain */
	CHECK_EQ(CU(cuMemAlloc_v2)(&p[0], 722 * MIB), CUDA_SUCCESS);
	shows(handle, 1 * GIB);
	for (int i = 1; i < 4; i++) {
		CHECK_EQ(CU(cuMemAlloc_v2)(&p[i], 1 * GIB), i < 4 ? CUDA_SUCCESS : 2);
		shows(handle, (unsigned long long)(i + 1) * GIB);
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQ(CU(cuMemFree_v2)(p[i]), CUDA_SUCCESS);
	shows(handle, 302 * MIB);
	return 0;
}
