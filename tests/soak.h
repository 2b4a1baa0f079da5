/*
 * The programs of the soak: one that churns blocks as it is told over a pipe, and guests that come
 * and go. Owns: their blocks and children. Included by the one test that starts them.
 */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include "client.h"
#include "smaps.h"

#include <sys/mman.h>

#define MIB (1ull << 20)
#define BURST 16

static unsigned live_blocks(void)
{
	return test_long() ? 50000 : 20000;
}

static __typeof__(&cuMemAlloc_v2) take;
static __typeof__(&cuMemFree_v2) give;
static __typeof__(&cuMemGetInfo_v2) ask;
static CUdeviceptr *block;
static uint64_t state;
static pid_t child;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Mostly small, many to a grain; one in 256 has grains of its own. */
static size_t some_bytes(void)
{
	const uint64_t r = next();

	return r % 256 ? 256 + (r >> 16) % 16000 : 2 * MIB + (r >> 16) % (6 * MIB);
}

/* Grains that are taken into use and emptied again. */
static void burst(void)
{
	CUdeviceptr few[BURST];

	for (int i = 0; i < BURST; i++)
		CHECK_EQ(take(&few[i], MIB / 2 + next() % MIB), CUDA_SUCCESS);
	for (int i = 0; i < BURST; i++)
		CHECK_EQ(give(few[i]), CUDA_SUCCESS);
}

static void churn(unsigned pairs)
{
	const unsigned live = live_blocks();
	size_t free, total;

	while (pairs--) {
		CUdeviceptr *const b = &block[next() % live];
		CUresult rc = give(*b);

		if (rc == CUDA_SUCCESS)
			rc = take(b, some_bytes());
		if (rc != CUDA_SUCCESS)
			FAIL("a pair ends with %d", rc);
		if (pairs % 1024)
			continue;
		burst();
		CHECK_EQ(ask(&free, &total), CUDA_SUCCESS);
	}
}

static void reap(void)
{
	int status;

	if (!child)
		return;
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		FAIL("a child ends with status %#x", status);
	child = 0;
}

/* Kinds in turn: one that uses what it inherited, a program that ends, one that is killed. */
static void spawn(unsigned kind)
{
	CUdeviceptr p;

	reap();
	child = fork();
	CHECK_SYS(child);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind % 3 == 0)
		_exit(take(&p, 4096) != CUDA_ERROR_NOT_INITIALIZED);
	execl("/proc/self/exe", "/proc/self/exe", "guest", kind % 3 == 1 ? "ends" : "killed", NULL);
	_exit(127);
}

/* A program that comes, holds a little, and goes without giving it back. */
static int guest(bool killed)
{
	CUdeviceptr p;

	context_now(0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, i % 2 ? 4096 : 3 * MIB), CUDA_SUCCESS);
	if (killed)
		raise(SIGKILL);
	return 0;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void obey(const char *order, unsigned n, bool forks)
{
	const unsigned children = test_long() ? 12 : 3;

	if (!strcmp(order, "time")) {
		double begin;

		churn(n / 2); /* the others have had the caches */
		begin = cpu_ns();
		churn(n);
		printf("%.2f\n", (cpu_ns() - begin) / n);
	} else if (!strcmp(order, "churn")) {
		for (unsigned i = 0; i < children; i++) {
			if (forks)
				spawn(i);
			churn(n / children);
		}
		reap();
		puts("done");
	} else if (!strcmp(order, "look")) {
		const struct smaps s = smaps_read();

		printf("%ld %ld %ld %u\n", s.own_kib, s.anonymous_kib, s.count, open_descriptors());
	} else if (!strcmp(order, "drop")) {
		for (unsigned i = 0; i < live_blocks(); i++)
			CHECK_EQ(give(block[i]), CUDA_SUCCESS);
		puts("dropped");
	} else {
		FAIL("what is %s?", order);
	}
	fflush(stdout);
}

static int program(uint64_t seed, bool forks)
{
	char line[64], order[16];
	unsigned n;

	/* Huge pages come and go, and a fork breaks them up: resident memory would be chance. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	state = 88172645463325252ull + seed * 7919;
	context_now(0);
	take = CU(cuMemAlloc_v2);
	give = CU(cuMemFree_v2);
	ask = CU(cuMemGetInfo_v2);
	/* Not from the heap, whose own growth would be counted. */
	block = mmap(NULL, live_blocks() * sizeof(*block), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(block != MAP_FAILED);
	for (unsigned i = 0; i < live_blocks(); i++)
		CHECK_EQ(take(&block[i], some_bytes()), CUDA_SUCCESS);
	/* So that the pairs that are measured first are not the first to touch the memory. */
	churn(live_blocks() / 2);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		CHECK_EQ(sscanf(line, "%15s %u", order, &n), 2);
		obey(order, n, forks);
	}
	return 0;
}

#endif
