/*
 * report: CR-04
 * Threads that never made a context current create memory by handle: it is charged to the
 * device in the properties. A linear allocation from such a thread returns the driver's own
 * code and changes nothing.
 */
#include "steps.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define THREADS 8

static void *work(void *handle)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						       .id = 0}};
	CUdeviceptr p = 77;

	CHECK_EQ(CU(cuMemCreate)(handle, 16 * MIB, &prop, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 16 * MIB), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(p, 77ull);
	return NULL;
}

static int child(void)
{
	CUmemGenericAllocationHandle handle[THREADS];
	pthread_t thread[THREADS];

	context_now(0);
	step_say("context", 0, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, work, &handle[i]), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	step_say("created", 0, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(CU(cuMemRelease)(handle[i]), CUDA_SUCCESS);
	step_say("released", 0, 1);
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
	CHECK_EQ(steps_follow(&c, 2 * MIB), 3u);
	return 0;
}
