/*
 * Racing threads of racing processes: the recorded maximum of a tag lies between two counters
 * that the clients keep around each call (certainly held, possibly held), and after a phase in
 * which all hold everything at once it is that sum, to the byte. A process that is killed at
 * its peak is counted in it.
 */
#include "sim_driver.h"

#include <pthread.h>
#include <sys/mman.h>

enum { PROCESSES = 3,
       THREADS = 3,
       BLOCKS = 4 };

static struct control {
	int64_t sure, maybe; /* bytes certainly, possibly held now */
	int64_t sure_max, maybe_max;
	pthread_barrier_t barrier;
} * control;

static void raise_max(int64_t *max, const int64_t value)
{
	int64_t seen = __atomic_load_n(max, __ATOMIC_RELAXED);

	while (value > seen && !__atomic_compare_exchange_n(max, &seen, value, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static CUdeviceptr take(const int64_t bytes)
{
	CUdeviceptr p;

	raise_max(&control->maybe_max,
		  __atomic_add_fetch(&control->maybe, bytes, __ATOMIC_SEQ_CST));
	CHECK_EQ(cu.cuMemAlloc_v2(&p, bytes), CUDA_SUCCESS);
	raise_max(&control->sure_max, __atomic_add_fetch(&control->sure, bytes, __ATOMIC_SEQ_CST));
	return p;
}

static void give(const CUdeviceptr p, const int64_t bytes)
{
	__atomic_sub_fetch(&control->sure, bytes, __ATOMIC_SEQ_CST);
	CHECK_EQ(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	__atomic_sub_fetch(&control->maybe, bytes, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
	const uintptr_t number = (uintptr_t)arg;
	unsigned int seed = (unsigned int)number + 1;
	CUdeviceptr p[BLOCKS];
	CUcontext context;
	int i, k;

	CHECK_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (i = 0; i < 3000; i++) {
		const int64_t bytes = (rand_r(&seed) % 8 + 1) * 2 * MIB;

		p[0] = take(bytes);
		give(p[0], bytes);
	}
	pthread_barrier_wait(&control->barrier);
	/* The parent looks. */
	pthread_barrier_wait(&control->barrier);
	for (i = 0; i < 200; i++) {
		for (k = 0; k < BLOCKS; k++)
			p[k] = take(16 * MIB);
		if (i == 100) {
			pthread_barrier_wait(&control->barrier); /* all hold all */
			pthread_barrier_wait(&control->barrier);
		}
		for (k = 0; k < BLOCKS; k++)
			give(p[k], 16 * MIB);
	}
	return NULL;
}

static int process(void *arg)
{
	pthread_t thread[THREADS];
	uintptr_t i;

	driver_start("race");
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i + THREADS * (uintptr_t)arg));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int dies_at_its_peak(void *arg)
{
	CUdeviceptr p;

	driver_start("peak");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 48 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 50 * MIB), CUDA_SUCCESS);
	kill(getpid(), SIGKILL);
	return 0;
}

int main(void)
{
	struct client c[PROCESSES], last;
	pthread_barrierattr_t shared;
	int64_t max;
	uintptr_t i;

	one_card("24G");
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&control->barrier, &shared, PROCESSES * THREADS + 1);
	for (i = 0; i < PROCESSES; i++)
		c[i] = client_fork(process, (void *)i);
	pthread_barrier_wait(&control->barrier);
	max = truth_max(NULL, 0, "race");
	CHECK_GE(max, control->sure_max);
	CHECK_LE(max, control->maybe_max);
	CHECK_EQ(truth_held(NULL, 0, "race"), 0);
	CHECK_EQ(truth_reset(NULL), 0);
	CHECK_EQ(truth_max(NULL, 0, "race"), 0);
	pthread_barrier_wait(&control->barrier);
	pthread_barrier_wait(&control->barrier);
	CHECK_EQ(truth_held(NULL, 0, "race"), PROCESSES * THREADS * BLOCKS * 16 * MIB);
	pthread_barrier_wait(&control->barrier);
	for (i = 0; i < PROCESSES; i++)
		CHECK_EQ(client_wait(&c[i], DEADLINE_MS), 0);
	CHECK_EQ(truth_max(NULL, 0, "race"), PROCESSES * THREADS * BLOCKS * 16 * MIB);
	CHECK_EQ(truth_held(NULL, 0, "race"), 0);
	last = client_fork(dies_at_its_peak, NULL);
	CHECK_EQ(client_wait(&last, DEADLINE_MS), 128 + SIGKILL);
	CHECK_EQ(truth_held(NULL, 0, "peak"), 0);
	CHECK_EQ(truth_max(NULL, 0, "peak"), 50 * MIB);
	return 0;
}
