/*
 * One thread maps a handle, or retains it, while another gives it up, and the driver is
 * slow to return: what the mapping or the reference still holds stays charged, in whichever
 * order the two come back. Likewise when a thread maps an old handle whose number the driver is
 * just giving another thread anew.
 */
#include "steps.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define PIECE (64 * MIB)

static CUmemGenericAllocationHandle handle, retained, again;
static CUdeviceptr at;
static __typeof__(&cuMemMap) mem_map;
static __typeof__(&cuMemRetainAllocationHandle) mem_retain;
static int started;

static CUmemGenericAllocationHandle create(void)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						       .id = 0}};
	CUmemGenericAllocationHandle made;

	CHECK_EQ(CU(cuMemCreate)(&made, PIECE, &prop, 0), CUDA_SUCCESS);
	return made;
}

static void *map(void *unused)
{
	(void)unused;
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	CHECK_EQ(mem_map(at, PIECE, 0, handle, 0), CUDA_SUCCESS);
	return NULL;
}

static void *retain(void *unused)
{
	(void)unused;
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	CHECK_EQ(mem_retain(&retained, (void *)at), CUDA_SUCCESS);
	return NULL;
}

static void *create_again(void *unused)
{
	(void)unused;
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	again = create();
	return NULL;
}

/* In another thread; returns once the driver has done it, long before the call is back. */
static pthread_t start(void *(*call)(void *))
{
	pthread_t thread;

	started = 0;
	CHECK_EQ(pthread_create(&thread, NULL, call, NULL), 0);
	while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(20000);
	return thread;
}

static int child(void)
{
	pthread_t thread;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	mem_map = CU(cuMemMap);
	mem_retain = CU(cuMemRetainAllocationHandle);
	CHECK_EQ(CU(cuMemAddressReserve)(&at, PIECE, 0, 0, 0), CUDA_SUCCESS);
	handle = create();
	step_say("create", 0, 0);
	thread = start(map);
	CHECK_EQ(CU(cuMemRelease)(handle), CUDA_SUCCESS);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	step_say("mapped and released at once", 0, 0);
	thread = start(retain);
	CHECK_EQ(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	step_say("retained and unmapped at once", 0, 0);
	CHECK_EQ(CU(cuMemRelease)(retained), CUDA_SUCCESS);
	step_say("released the last", 0, 0);
	thread = start(create_again);
	CHECK_EQ(mem_map(at, PIECE, 0, retained, 0), CUDA_SUCCESS);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(again, retained);
	CHECK_EQ(CU(cuMemRelease)(again), CUDA_SUCCESS);
	step_say("mapped by an old number and released", 0, 0);
	CHECK_EQ(CU(cuMemUnmap)(at, PIECE), CUDA_SUCCESS);
	step_say("unmapped", 0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=12G",
				   "SIMGPU_DELAY=cuMemCreate>500ms,cuMemMap>200ms,"
				   "cuMemRetainAllocationHandle>200ms",
				   NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_EQ(steps_follow(&c, 2 * MIB), 6u);
	return 0;
}
