/*
 * A process is killed at a random instant while four threads allocate and free; afterwards the
 * ground truth is what the survivor holds, to the byte, and so after every one of many kills.
 */
#include "sim_driver.h"

#include <pthread.h>

static void *churn(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	CUdeviceptr block[16] = {0};
	CUcontext context;

	CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (;;) {
		CUdeviceptr *const b = &block[rand_r(&seed) % 16];

		if (*b)
			CHECK_EQ(cu.cuMemFree_v2(*b), CUDA_SUCCESS);
		*b = 0;
		if (rand_r(&seed) % 2)
			CHECK_EQ(cu.cuMemAlloc_v2(b, rand_r(&seed) % (rand_r(&seed) % 2 ? 9 * MIB
											: 9999) +
							     1),
				 CUDA_SUCCESS);
	}
	return NULL;
}

static int victim(void *arg)
{
	pthread_t thread;
	uintptr_t i;

	driver_start("victim");
	for (i = 0; i < 3; i++)
		pthread_create(&thread, NULL, churn, (void *)(i + 7 * (uintptr_t)getpid()));
	dprintf(1, "ready\n");
	churn((void *)(uintptr_t)getpid());
	return 0;
}

/* Churns too, so that words change hands, and stops on demand with exactly 5 MiB: 3 grains. */
static int survivor(void *arg)
{
	CUdeviceptr p, q;
	struct pollfd stop = {.fd = 0, .events = POLLIN};

	driver_start("victim"); /* the same tag */
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 5 * MIB), CUDA_SUCCESS);
	dprintf(1, "ready\n");
	while (!poll(&stop, 1, 0)) {
		CHECK_EQ(cu.cuMemAlloc_v2(&q, 2 * MIB), CUDA_SUCCESS);
		CHECK_EQ(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	}
	dprintf(1, "still\n");
	for (;;)
		pause();
}

int main(void)
{
	const int rounds = test_long() ? 2000 : 60;
	unsigned int seed = 1;
	int i;

	one_card("24G");
	for (i = 0; i < rounds; i++) {
		struct client v = client_fork(victim, NULL), s = client_fork(survivor, NULL);

		CLIENT_SAYS(&v, "ready");
		CLIENT_SAYS(&s, "ready");
		usleep(rand_r(&seed) % 3000);
		client_kill(&v, SIGKILL);
		CHECK_EQ(client_wait(&v, DEADLINE_MS), 128 + SIGKILL);
		client_say(&s, "stop");
		CLIENT_SAYS(&s, "still");
		CHECK_EQ(truth_held(NULL, 0, "victim"), 6 * MIB);
		CHECK_EQ(truth_resident(NULL, 0), 6 * MIB);
		client_kill(&s, SIGKILL);
		CHECK_EQ(client_wait(&s, DEADLINE_MS), 128 + SIGKILL);
		CHECK_EQ(truth_held(NULL, 0, "victim"), 0);
	}
	return 0;
}
