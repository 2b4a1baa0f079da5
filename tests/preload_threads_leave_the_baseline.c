/*
 * Eight threads allocate and free at random, 1 KiB to 64 MiB, and free nothing, the same twice, and
 * what is nobody's: neither what is shown as used nor what stands in the ledger ever leaves
 * 0..limit, and at the end both are what they were, as is what the simulated card holds.
 *
 * report: AC-01
 */
#include "client.h"
#include "ledger_now.h"
#include "simgpu/truth.h"

#include <pthread.h>

#define THREADS 8
#define HELD 24
#define LIMIT (4ull << 30)

/* Of each thread. */
static int steps(void)
{
	return test_long() ? 500000 : 50000;
}

static CUcontext context;
static size_t baseline;

static size_t used_now(void)
{
	size_t bytes = 0, total = 0;

	CHECK_EQ(CU(cuMemGetInfo_v2)(&bytes, &total), CUDA_SUCCESS);
	CHECK_EQ(total, (size_t)LIMIT);
	CHECK_LE(bytes, total);
	return total - bytes;
}

static void *churn(void *seed)
{
	const __typeof__(&cuMemAlloc_v2) take = CU(cuMemAlloc_v2);
	const __typeof__(&cuMemFree_v2) give = CU(cuMemFree_v2);
	uint64_t state = 88172645463325252ull + (uintptr_t)seed * 7919;
	const __typeof__(&cuMemGetInfo_v2) info = CU(cuMemGetInfo_v2);
	CUdeviceptr held[HELD] = {0};
	size_t bytes, total;
	const int most = steps();

	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	for (int step = 0; step < most; step++) {
		CUdeviceptr *place;
		CUresult rc;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		place = &held[state % HELD];
		if (*place) {
			const CUdeviceptr old = *place;

			/* It may be gone: another thread's second free may have met it. */
			rc = give(old);
			CHECK(rc == CUDA_SUCCESS || rc == CUDA_ERROR_INVALID_VALUE);
			*place = 0;
			if (state >> 60 == 1)
				give(old);
			if (state >> 60 == 2)
				CHECK_EQ(give(0), CUDA_SUCCESS);
			if (state >> 60 == 3)
				CHECK_NE(give((CUdeviceptr)(uintptr_t)&state), CUDA_SUCCESS);
			continue;
		}
		rc = take(place, 1024 + (size_t)((state >> 8) % 65536 << (state >> 32) % 11));
		CHECK(rc == CUDA_SUCCESS || rc == CUDA_ERROR_OUT_OF_MEMORY);
		if (rc != CUDA_SUCCESS)
			*place = 0;
		CHECK_EQ(info(&bytes, &total), CUDA_SUCCESS);
		CHECK_LE(bytes, (size_t)LIMIT);
	}
	for (int i = 0; i < HELD; i++)
		if (held[i])
			give(held[i]);
	return NULL;
}

/* An emptied grain is paid for until the driver was seen to give one back. */
static void teach(void)
{
	for (int i = 0; i < 200 && used_now() != baseline; i++) {
		CUdeviceptr p;

		CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1000), CUDA_SUCCESS);
		usleep(2000);
		CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	}
}

static int client(void)
{
	pthread_t threads[THREADS];
	int64_t held;

	context = context_now(0);
	baseline = used_now();
	held = truth_held(NULL, 0, "t");
	CHECK_EQ(ledger_used(NULL, NULL), (uint64_t)baseline);
	puts("begin");
	fflush(stdout);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	teach();
	CHECK_EQ(truth_held(NULL, 0, "t"), held);
	CHECK_EQ(used_now(), baseline);
	CHECK_EQ(ledger_used(NULL, NULL), (uint64_t)baseline);
	puts("end");
	return 0;
}

/* Is there something to read, or the end? */
static bool speaks(const struct client *c)
{
	struct pollfd p = {.fd = c->from, .events = POLLIN};

	return poll(&p, 1, 1) > 0;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=8G", "SIMGPU_TAG=t", NULL};
	const char *const self[] = {"/proc/self/exe", "client", NULL};
	unsigned looks = 0;
	struct client c;

	if (argc > 1)
		return client();
	c = client_capped(self, env);
	CLIENT_SAYS(&c, "begin");
	/* Charged and credit are one word, so a look is exact; a counter below
	 * 0 is a very large one. */
	for (; !speaks(&c); looks++) {
		uint64_t credit, used = ledger_used(NULL, &credit);

		CHECK_LE(used + credit, (uint64_t)LIMIT);
	}
	CLIENT_SAYS(&c, "end");
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	CHECK_GE(looks, 20u);
	CHECK_LE(truth_max(NULL, 0, "t"), (int64_t)LIMIT);
	return 0;
}
