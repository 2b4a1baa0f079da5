/*
 * Memory by handle is charged to the device that its properties name and refunded when the last of
 * handle, retained handles and mappings is gone, in every order, as the device itself does.
 */
#include "steps.h"

#define MIB (1ull << 20)
#define PIECE (32 * MIB)

static CUmemGenericAllocationHandle create(CUdevice device, bool works)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						       .id = device}};
	CUmemGenericAllocationHandle handle = 0;

	CHECK_EQ(CU(cuMemCreate)(&handle, PIECE, &prop, 0) == CUDA_SUCCESS, works);
	return handle;
}

static int child(void)
{
	CUmemGenericAllocationHandle a, b, again;
	CUdeviceptr at;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	step_say("start", 0, 0);
	/* Ordinal 0 is NVML's device 1 and the other way round; no context at all. */
	a = create(0, true);
	step_say("create on 0", 0, 0);
	b = create(1, true);
	step_say("create on 1", 0, 0);
	CHECK_EQ(CU(cuMemRelease)(b), CUDA_SUCCESS);
	step_say("release on 1", 0, 0);
	CHECK_EQ(CU(cuMemRelease)(a), CUDA_SUCCESS);
	step_say("release on 0", 0, 0);
	CHECK_NE(CU(cuMemRelease)(a), CUDA_SUCCESS);
	step_say("release again", 0, 0);

	context_now(0);
	step_say("context", 0, 1);
	CHECK_EQ(CU(cuMemAddressReserve)(&at, 4 * PIECE, 0, 0, 0), CUDA_SUCCESS);
	step_say("reserve", 0, 1);
	a = create(0, true);
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, a, 0), CUDA_SUCCESS);
	step_say("map", 0, 1);
	CHECK_NE(CU(cuMemMap)(at, PIECE, 0, a, 0), CUDA_SUCCESS);
	step_say("map the same place again", 0, 1);
	CHECK_EQ(CU(cuMemRelease)(a), CUDA_SUCCESS);
	step_say("release while mapped", 0, 1);
	CHECK_EQ(CU(cuMemRetainAllocationHandle)(&again, (void *)at), CUDA_SUCCESS);
	step_say("retain", 0, 1);
	CHECK_EQ(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	step_say("unmap while retained", 0, 1);
	CHECK_EQ(CU(cuMemRelease)(again), CUDA_SUCCESS);
	step_say("release what was retained", 0, 1);

	a = create(0, true);
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, a, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemMap)(at + PIECE, PIECE, 0, a, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRetainAllocationHandle)(&again, (void *)(at + PIECE)), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(a), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(again), CUDA_SUCCESS);
	step_say("two mappings, no handle", 0, 1);
	CHECK_EQ(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	step_say("one mapping left", 0, 1);
	CHECK_EQ(CU(cuMemUnmap)(at + PIECE, PIECE), CUDA_SUCCESS);
	step_say("none left", 0, 1);

	a = create(0, true);
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, a, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRetainAllocationHandle)(&again, (void *)at), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	step_say("two references", 0, 1);
	CHECK_EQ(CU(cuMemRelease)(a), CUDA_SUCCESS);
	step_say("one reference left", 0, 1);
	CHECK_EQ(CU(cuMemRelease)(again), CUDA_SUCCESS);
	step_say("no reference left", 0, 1);

	/* One unmap over two mappings of two handles. */
	a = create(0, true);
	b = create(1, true);
	CHECK_EQ(CU(cuMemMap)(at, PIECE, 0, a, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemMap)(at + PIECE, PIECE, 0, b, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(a), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(b), CUDA_SUCCESS);
	step_say("two devices mapped side by side", 0, 1);
	CHECK_EQ(CU(cuMemUnmap)(at, 2 * PIECE), CUDA_SUCCESS);
	step_say("unmapped at once", 0, 1);

	CHECK_NE(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	CHECK_NE(CU(cuMemMap)(at, PIECE, 0, 0x1234, 0), CUDA_SUCCESS);
	create(7, false);
	step_say("calls that the driver refuses", 0, 1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=8G", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_EQ(steps_follow(&c, 2 * MIB), 23u);
	return 0;
}
