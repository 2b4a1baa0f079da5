/*
 * A driver whose inner calls can be interposed allocates and frees through our hooks from inside
 * calls of ours: each byte is charged once, and refunded once.
 */
#include "client.h"

#define MIB ((size_t)1 << 20)
#define HELD (256 * MIB)

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=100M",
				   "CUQUOTA_MEMORY_LIMIT=2G", NULL};
	CUdeviceptr p;
	CUdeviceptr_v1 low;
	size_t pitch, before;

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("simgpu-plt"));
	start_capped(argv, env);
	context_now(0);
	before = free_now();
	CHECK_EQ(CU(cuMemAllocPitch_v2)(&p, &pitch, MIB, HELD / MIB, 4), CUDA_SUCCESS);
	CHECK_EQ(before - free_now(), HELD);
	CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	CHECK_EQ(before, free_now());
	CHECK_EQ(CU(cuMemAlloc)(&low, (unsigned)HELD), CUDA_SUCCESS);
	CHECK_EQ(before - free_now(), HELD);
	CHECK_EQ(CU(cuMemFree)(low), CUDA_SUCCESS);
	CHECK_EQ(before, free_now());
	return 0;
}
