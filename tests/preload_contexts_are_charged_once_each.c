/*
 * Every way to make and to drop a context: each context is charged what it takes, the primary one
 * once however often it is retained, and its end refunds it with what was allocated in it.
 */
#include "steps.h"

#define MIB (1ull << 20)

static void allocate(unsigned mib)
{
	CUdeviceptr p;

	CHECK_EQ(CU(cuMemAlloc_v2)(&p, mib * MIB), CUDA_SUCCESS);
}

static void primary(CUdevice device)
{
	CUcontext context, same;

	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	step_say("retain", 0, 1);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&same, device), CUDA_SUCCESS);
	step_say("retain again", 0, 1);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(device), CUDA_SUCCESS);
	step_say("release one", 0, 1);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	allocate(64);
	step_say("allocate in it", 0, 1);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease)(device), CUDA_SUCCESS);
	step_say("release the last", 0, 0);
	CHECK_NE(CU(cuDevicePrimaryCtxRelease_v2)(device), CUDA_SUCCESS);
	step_say("release what is not retained", 0, 0);

	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	allocate(16);
	CHECK_EQ(CU(cuDevicePrimaryCtxReset_v2)(device), CUDA_SUCCESS);
	step_say("reset", 0, 0);
	/* A reset takes no reference. */
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(device), CUDA_SUCCESS);
	step_say("release after the reset", 0, 0);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxReset)(device), CUDA_SUCCESS);
	step_say("retain, reset by the old name", 0, 0);
	CHECK_EQ(CU(cuDevicePrimaryCtxRelease)(device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetCurrent)(NULL), CUDA_SUCCESS);
}

static CUresult create(int version, CUcontext *context, CUdevice device)
{
	CUctxCreateParams params = {0};

	switch (version) {
	case 1:
		return CU(cuCtxCreate)(context, 0, device);
	case 2:
		return CU(cuCtxCreate_v2)(context, 0, device);
	case 3:
		return CU(cuCtxCreate_v3)(context, NULL, 0, 0, device);
	}
	return CU(cuCtxCreate_v4)(context, &params, 0, device);
}

static void created(CUdevice device)
{
	CUcontext context, other;

	for (int version = 1; version <= 4; version++) {
		CHECK_EQ(create(version, &context, device), CUDA_SUCCESS);
		step_say("create", 1, 0);
		allocate(8);
		step_say("allocate in it", 1, 0);
		CHECK_EQ(version % 2 ? CU(cuCtxDestroy)(context) : CU(cuCtxDestroy_v2)(context),
			 CUDA_SUCCESS);
		step_say("destroy", 0, 0);
	}
	CHECK_EQ(create(2, &context, device), CUDA_SUCCESS);
	CHECK_EQ(create(4, &other, device), CUDA_SUCCESS);
	step_say("two on one device", 2, 0);
	CHECK_EQ(CU(cuCtxDestroy_v2)(context), CUDA_SUCCESS);
	step_say("destroy the first", 1, 0);
	CHECK_EQ(CU(cuCtxAttach)(&context, 0), CUDA_SUCCESS);
	step_say("attach", 1, 0);
	CHECK_EQ(CU(cuCtxDetach)(other), CUDA_SUCCESS);
	step_say("detach one", 1, 0);
	CHECK_EQ(CU(cuCtxDetach)(other), CUDA_SUCCESS);
	step_say("detach the last", 0, 0);
	CHECK_EQ(create(2, &other, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxAttach)(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
	step_say("destroy what is attached", 0, 0);
	CHECK_NE(CU(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
	CHECK_NE(CU(cuCtxDestroy_v2)((CUcontext)0x1234), CUDA_SUCCESS);
	CHECK_NE(create(2, &context, 9), CUDA_SUCCESS);
	CHECK_NE(create(2, NULL, device), CUDA_SUCCESS);
	CHECK_NE(CU(cuDevicePrimaryCtxRetain)(NULL, device), CUDA_SUCCESS);
	CHECK_NE(CU(cuDevicePrimaryCtxRetain)(&context, -1), CUDA_SUCCESS);
	step_say("calls that the driver refuses", 0, 0);
}

static int child(void)
{
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	step_say("start", 0, 0);
	primary(0); /* CUDA's first is NVML's second */
	created(1);
	primary(0);
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
	CHECK_EQ(steps_follow(&c, 2 * MIB), 38u);
	return 0;
}
