/*
 * A call that the driver refuses leaves the account as it was, whichever call it is; and what was
 * refused to be released is still charged, and refunded once by the call that succeeds.
 */
#include "steps.h"

#define MIB (1ull << 20)
#define PIECE (32 * MIB)

/* The first call of each name fails with a code of its own. */
#define FAULT                                                                                      \
	"SIMGPU_FAULT=cuCtxCreate_v2@1:719,cuCtxDestroy_v2@1:719,cuCtxDetach@1:719,cuCtxAttach@1:" \
	"719,"                                                                                     \
	"cuDevicePrimaryCtxRetain@1:719,cuDevicePrimaryCtxRelease_v2@1:719,"                       \
	"cuDevicePrimaryCtxReset_v2@1:719,"                                                        \
	"cuMemCreate@1:719,cuMemRelease@1:719,cuMemMap@1:719,cuMemUnmap@1:719,"                    \
	"cuMemRetainAllocationHandle@1:719,"                                                       \
	"cuMemAlloc_v2@1:719,cuMemFree_v2@1:719"

/* Fails once, then succeeds; both are compared with what the device holds. */
#define TWICE(name, contexts0, contexts1, contexts1_after, ...)            \
	do {                                                               \
		CHECK_EQ(CU(name)(__VA_ARGS__), CUDA_ERROR_LAUNCH_FAILED); \
		step_say(#name " failed", contexts0, contexts1);           \
		CHECK_EQ(CU(name)(__VA_ARGS__), CUDA_SUCCESS);             \
		step_say(#name, contexts0, contexts1_after);               \
	} while (0)

static int child(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle, again;
	CUcontext context, other;
	CUdeviceptr at, p;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	TWICE(cuDevicePrimaryCtxRetain, 0, 0, 1, &context, 0);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	TWICE(cuMemAlloc_v2, 0, 1, 1, &p, PIECE);
	TWICE(cuMemFree_v2, 0, 1, 1, p);
	CHECK_EQ(CU(cuMemAddressReserve)(&at, PIECE, 0, 0, 0), CUDA_SUCCESS);
	TWICE(cuMemCreate, 0, 1, 1, &handle, PIECE, &prop, 0);
	/* A mapping, a handle or a reference that were noted all the same would keep or lose the
	 * charge at once. */
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, handle, 0), CUDA_ERROR_LAUNCH_FAILED);
	TWICE(cuMemRelease, 0, 1, 1, handle);
	CHECK_EQ(CU(cuMemCreate)(&handle, PIECE, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, handle, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(handle), CUDA_SUCCESS);
	again = handle;
	CHECK_EQ(CU(cuMemRetainAllocationHandle)(&again, (void *)at), CUDA_ERROR_LAUNCH_FAILED);
	TWICE(cuMemUnmap, 0, 1, 1, at, PIECE);

	TWICE(cuCtxCreate_v2, 0, 1, 1, &other, 0, 0);
	TWICE(cuCtxAttach, 0, 1, 1, &other, 0);
	TWICE(cuCtxDetach, 0, 1, 1, other);
	TWICE(cuCtxDestroy_v2, 0, 1, 1, other);
	TWICE(cuDevicePrimaryCtxReset_v2, 0, 1, 0, 0);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
	step_say("primary context released", 0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=8G", FAULT, NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_EQ(steps_follow(&c, 2 * MIB), 23u);
	return 0;
}
