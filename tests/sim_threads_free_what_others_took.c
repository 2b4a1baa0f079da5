/*
 * Threads take blocks, large and small, and hand them round a ring: each is freed by another thread
 * than took it, and by two at once, of whom one is refused. No block is ever given out twice, and
 * when all are gone the card holds what it held before, to the byte; the maximum is one that the
 * blocks can have made.
 */
#include "sim_driver.h"

#include <pthread.h>

enum { THREADS = 4,
       PLACES = 16 };

/* A block that its taker has put down; two free it. */
struct place {
	CUdeviceptr at;
	uint32_t full, refused, freed;
};

static struct place ring[THREADS][PLACES];
static pthread_barrier_t barrier;
static CUcontext context;

static void put(struct place *place, const uint64_t mark)
{
	const size_t bytes = mark % 3 ? 2 * MIB : 1536;

	CHECK_EQ(cu.cuMemAlloc_v2(&place->at, bytes), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemcpyHtoD_v2(place->at, &mark, sizeof(mark)), CUDA_SUCCESS);
}

static void *worker(void *arg)
{
	const int rounds = test_long() ? 20000 : 1500;
	const unsigned int self = (unsigned int)(uintptr_t)arg;
	unsigned int i, k;
	int round;

	CHECK_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < PLACES; i++)
			put(&ring[self][i], (uint64_t)round << 16 | self << 8 | i);
		pthread_barrier_wait(&barrier);
		for (i = 0; i < PLACES; i++) {
			const struct place *const place = &ring[(self + 1) % THREADS][i];
			const uint64_t want =
				(uint64_t)round << 16 | (self + 1) % THREADS << 8 | i;
			uint64_t mark;

			CHECK_EQ(cu.cuMemcpyDtoH_v2(&mark, place->at, sizeof(mark)), CUDA_SUCCESS);
			CHECK_EQ(mark, want);
		}
		pthread_barrier_wait(&barrier);
		for (k = 1; k <= 2; k++)
			for (i = 0; i < PLACES; i++) {
				struct place *const place = &ring[(self + k) % THREADS][i];
				const CUresult rc = cu.cuMemFree_v2(place->at);

				if (rc)
					CHECK_EQ(rc, CUDA_ERROR_INVALID_VALUE);
				__atomic_add_fetch(rc ? &place->refused : &place->freed, 1,
						   __ATOMIC_RELAXED);
			}
		pthread_barrier_wait(&barrier);
		for (i = 0; i < PLACES; i++) {
			CHECK_EQ(ring[self][i].freed, round + 1);
			CHECK_EQ(ring[self][i].refused, round + 1);
		}
	}
	return NULL;
}

static int body(void *arg)
{
	pthread_t thread[THREADS];
	int64_t before, max;
	uintptr_t i;

	context = driver_start("a");
	before = truth_held(NULL, 0, "a");
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, worker, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(truth_held(NULL, 0, "a"), before);
	max = truth_max(NULL, 0, "a");
	CHECK_GE(max, before + THREADS * PLACES / 3 * 2 * MIB);
	CHECK_LE(max, before + THREADS * PLACES * 2 * MIB);
	return 0;
}

int main(void)
{
	struct client c;

	one_card("1G");
	c = client_fork(body, NULL);
	CHECK_EQ(client_wait(&c, 4 * DEADLINE_MS), 0);
	CHECK_EQ(truth_resident(NULL, 0), 0);
	return 0;
}
