/*
 * The driver gives the handle of an ended context to the next one at once, on another device too:
 * while one thread's cuCtxDestroy is on its way back, another thread's cuCtxCreate may have it.
 * Each context is charged to its own device.
 */
#include "steps.h"

#include <pthread.h>

#define MIB (1ull << 20)

static __typeof__(&cuCtxDestroy_v2) destroy;
static int started;

static void *end(void *context)
{
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	CHECK_EQ(destroy(context), CUDA_SUCCESS);
	return NULL;
}

static int child(void)
{
	CUcontext first, second = NULL;
	CUdeviceptr p;
	pthread_t thread;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	destroy = CU(cuCtxDestroy_v2);
	CHECK_EQ(CU(cuCtxCreate_v2)(&first, 0, 0), CUDA_SUCCESS);
	step_say("the first", 0, 1); /* CUDA's first is NVML's second */
	CHECK_EQ(pthread_create(&thread, NULL, end, first), 0);
	while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(20000);
	CHECK_EQ(CU(cuCtxCreate_v2)(&second, 0, 1), CUDA_SUCCESS);
	CHECK_EQ((uintptr_t)second, (uintptr_t)first); /* else this shows nothing */
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 64 * MIB), CUDA_SUCCESS);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	step_say("the second has the first one's handle", 1, 0);
	CHECK_EQ(destroy(second), CUDA_SUCCESS);
	step_say("none", 0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	/* What one thread frees, the next malloc of another has. */
	const char *const env[] =
		{"CUQUOTA_MEMORY_LIMIT=12G", "SIMGPU_DELAY=cuCtxDestroy_v2>300ms",
		 "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_EQ(steps_follow(&c, 2 * MIB), 3u);
	return 0;
}
