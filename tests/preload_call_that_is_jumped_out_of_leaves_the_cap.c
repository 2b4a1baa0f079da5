/*
 * A signal handler may jump out of an allocation for good, as interpreters do. What that call had
 * charged stays charged, and the thread's later allocations are counted as ever.
 */
#include "client.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define MIB ((size_t)1 << 20)

static sigjmp_buf out;

static void jump(int signal)
{
	siglongjmp(out, signal);
}

/* The driver sleeps in managed allocations; the timer ends the call from without. */
static void leave_an_allocation(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	CUdeviceptr pointer;

	if (sigsetjmp(out, 1))
		return;
	CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
	CU(cuMemAllocManaged)
	(&pointer, 100 * MIB, CU_MEM_ATTACH_GLOBAL);
	FAIL("the driver did not sleep");
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G", "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=100M", "SIMGPU_DELAY=cuMemAllocManaged:20s",
				   NULL};
	CUdeviceptr first, pointer;
	CUcontext context;
	size_t before, taken = 0;

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&first, 100 * MIB), CUDA_SUCCESS);
	before = free_now();
	signal(SIGALRM, jump);
	leave_an_allocation();
	CHECK_EQ(before - free_now(), 100 * MIB);
	while (CU(cuMemAlloc_v2)(&pointer, 100 * MIB) == CUDA_SUCCESS && taken < 2048 * MIB)
		taken += 100 * MIB;
	CHECK_EQ(taken, (before - 100 * MIB) / (100 * MIB) * (100 * MIB));
	return 0;
}
