/*
 * Processes of three tags race for a small card until each is refused, round after round: what they
 * then hold together is never more than the card has, and no more than one request is left over.
 * After all are gone one process can have the whole card.
 */
#include "sim_driver.h"

#include <pthread.h>
#include <sys/mman.h>

enum { RACERS = 6,
       BLOCKS = 128 };

static pthread_barrier_t *barrier;

static int greedy(void *arg)
{
	const int rounds = test_long() ? 5000 : 200;
	CUdeviceptr p[BLOCKS];
	int i, k, n, done = 0;
	char tag[8];

	snprintf(tag, sizeof(tag), "t%d", (int)(intptr_t)arg % 3);
	driver_start(tag);
	for (i = 0; i < rounds; i++) {
		pthread_barrier_wait(barrier);
		for (n = 0; n < BLOCKS && !cu.cuMemAlloc_v2(&p[n], 2 * MIB); n++)
			/* Grants change hands while others charge. */
			if (++done % 8 == 0 && n > 3)
				for (k = 0; k < 3; k++)
					CHECK_EQ(cu.cuMemFree_v2(p[n--]), CUDA_SUCCESS);
		pthread_barrier_wait(barrier);
		/* The parent looks. */
		pthread_barrier_wait(barrier);
		while (n)
			CHECK_EQ(cu.cuMemFree_v2(p[--n]), CUDA_SUCCESS);
	}
	return 0;
}

static int whole(void *arg)
{
	CUdeviceptr p;
	size_t f, t;

	driver_start("whole");
	CHECK_EQ(cu.cuMemGetInfo_v2(&f, &t), CUDA_SUCCESS);
	CHECK_EQ(f, 256 * MIB);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 256 * MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 256 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemGetInfo_v2(&f, &t), CUDA_SUCCESS);
	CHECK_EQ(f, 0);
	return 0;
}

int main(void)
{
	const int rounds = test_long() ? 5000 : 200;
	pthread_barrierattr_t shared;
	struct client c[RACERS], w;
	static struct truth truth;
	int i;

	one_card("256M");
	barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &shared, RACERS + 1);
	for (i = 0; i < RACERS; i++)
		c[i] = client_fork(greedy, (void *)(intptr_t)i);
	for (i = 0; i < rounds; i++) {
		pthread_barrier_wait(barrier);
		pthread_barrier_wait(barrier);
		CHECK_EQ(truth_read(NULL, &truth), 0);
		CHECK_LE(truth.device[0].committed, 256 * MIB);
		CHECK_EQ(truth.device[0].committed, truth.device[0].resident);
		CHECK_GE(truth.device[0].committed, 254 * MIB);
		truth_free(&truth);
		pthread_barrier_wait(barrier);
	}
	for (i = 0; i < RACERS; i++)
		CHECK_EQ(client_wait(&c[i], DEADLINE_MS), 0);
	CHECK_EQ(truth_resident(NULL, 0), 0);
	w = client_fork(whole, NULL);
	CHECK_EQ(client_wait(&w, DEADLINE_MS), 0);
	return 0;
}
