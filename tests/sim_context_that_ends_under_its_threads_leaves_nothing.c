/*
 * A context is destroyed while threads allocate and free in it, and the next one, in the same
 * place, is made at once: each thread is told that its context has ended, nothing of it stays on
 * the card, and nothing is taken in the successor, which nobody has made current.
 */
#include "sim_driver.h"

#include <pthread.h>

enum { THREADS = 3,
       KEPT = 8 };

static pthread_barrier_t barrier;
static CUcontext context;
static bool last;

static void *worker(void *arg)
{
	const size_t bytes = (uintptr_t)arg % 2 ? 2 * MIB : 1536;

	for (;;) {
		CUdeviceptr p[KEPT] = {0};
		CUresult rc = CUDA_SUCCESS;
		unsigned int i;

		pthread_barrier_wait(&barrier);
		if (last)
			return NULL;
		CHECK_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
		pthread_barrier_wait(&barrier);
		for (i = 0; !rc; i = (i + 1) % KEPT) {
			if (p[i] && cu.cuMemFree_v2(p[i]))
				break;
			rc = cu.cuMemAlloc_v2(&p[i], bytes);
		}
		if (rc)
			CHECK_EQ(rc, CUDA_ERROR_CONTEXT_IS_DESTROYED);
		pthread_barrier_wait(&barrier);
	}
}

static int body(void *arg)
{
	const int rounds = test_long() ? 20000 : 1500;
	pthread_t thread[THREADS];
	CUcontext next;
	uintptr_t i;
	int round;

	setenv("SIMGPU_TAG", "a", 1);
	driver_load();
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, worker, (void *)i), 0);
	CHECK_EQ(cu.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
	for (round = 0; round < rounds; round++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if (round % 2)
			usleep(50);
		CHECK_EQ(cu.cuCtxDestroy_v2(context), CUDA_SUCCESS);
		CHECK_EQ(cu.cuCtxCreate_v2(&next, 0, 0), CUDA_SUCCESS);
		pthread_barrier_wait(&barrier);
		CHECK(next == context); /* else the place was not used again */
		CHECK_EQ(truth_held(NULL, 0, "a"), 0);
	}
	last = true;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(void)
{
	struct client c;

	one_card("1G");
	c = client_fork(body, NULL);
	CHECK_EQ(client_wait(&c, 4 * DEADLINE_MS), 0);
	return 0;
}
