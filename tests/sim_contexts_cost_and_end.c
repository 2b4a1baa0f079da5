/*
 * A context costs SIMGPU_CONTEXT while it lives, however it was made, and takes its linear and
 * managed memory with it; the primary one is counted, and a reset ends it whoever holds it. The
 * stack of current contexts is the thread's; a context that was destroyed under a thread is told
 * apart from none.
 */
#include "sim_driver.h"

static int64_t held(void)
{
	return truth_held(NULL, 0, "a");
}

static int body(void *arg)
{
	CUcontext c[4], p, now;
	unsigned int flags;
	int active, i;
	CUdeviceptr m;
	CUdevice d;

	setenv("SIMGPU_TAG", "a", 1);
	driver_load();
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 1), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cu.cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 1), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cu.cuCtxCreate(&c[0], 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxCreate_v2(&c[1], 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxCreate_v3(&c[2], NULL, 0, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxCreate_v4(&c[3], NULL, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxCreate_v2(&now, 0, 1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(held(), 400 * MIB);
	CHECK_EQ(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS);
	CHECK(now == c[3]);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 3 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 3), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAllocManaged(&m, 3 * MIB, 1), CUDA_SUCCESS);
	CHECK_EQ(held(), 410 * MIB);
	CHECK_EQ(cu.cuCtxDestroy_v2(c[3]), CUDA_SUCCESS);
	CHECK_EQ(held(), 300 * MIB);
	CHECK_EQ(cu.cuCtxDestroy_v2(c[3]), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cu.cuMemFree_v2(m), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS);
	CHECK(now == c[2]);				  /* popped */
	CHECK_EQ(cu.cuCtxDestroy_v2(c[1]), CUDA_SUCCESS); /* not the current one */
	CHECK_EQ(cu.cuCtxPopCurrent_v2(&now), CUDA_SUCCESS);
	CHECK(now == c[2]);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_EQ(cu.cuCtxPopCurrent_v2(&now), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxGetDevice(&d), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxPopCurrent_v2(&now), CUDA_SUCCESS);
	CHECK(now == c[0]);
	CHECK_EQ(cu.cuCtxPopCurrent_v2(&now), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cu.cuCtxDestroy_v2(c[0]), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxPushCurrent_v2(c[2]), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxAttach(&now, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxDetach(now), CUDA_SUCCESS);
	CHECK_EQ(held(), 100 * MIB);
	CHECK_EQ(cu.cuCtxDetach(now), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);

	CHECK_EQ(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
	for (i = 0; i < 3; i++)
		CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&p, 0), CUDA_SUCCESS);
	CHECK_EQ(held(), 100 * MIB);
	CHECK_EQ(cu.cuCtxDestroy_v2(p), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cu.cuCtxSetCurrent(p), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 3 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	CHECK_EQ(held(), 104 * MIB);
	CHECK_EQ(cu.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
	CHECK_EQ(cu.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	CHECK_EQ(active, 0);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 3 * MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&now, 0), CUDA_SUCCESS);
	CHECK(now == p);
	CHECK_EQ(held(), 100 * MIB);
	CHECK_EQ(cu.cuMemAlloc_v2(&m, 3 * MIB), CUDA_SUCCESS);
	for (i = 0; i < 3; i++)
		CHECK_EQ(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
	CHECK_EQ(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
	return 0;
}

/* A context that does not fit is refused, and nothing stays. */
static int full(void *arg)
{
	CUcontext c;

	setenv("SIMGPU_TAG", "a", 1);
	setenv("SIMGPU_CONTEXT", "1025M", 1);
	driver_load();
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(held(), 0);
	return 0;
}

int main(void)
{
	struct client c;

	one_card("1G");
	setenv("SIMGPU_CONTEXT", "100M", 1);
	c = client_fork(body, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_fork(full, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
