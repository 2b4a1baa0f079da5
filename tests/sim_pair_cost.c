/*
 * Prints what an allocation and a free cost, the least of many short runs; fails only when it is
 * out of all proportion, since the machine may be busy.
 */
#include "sim_driver.h"

static double ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double pair(const size_t bytes)
{
	double best = 1e9;
	int run, i;

	for (run = 0; run < 200; run++) {
		const double start = ns_now();
		double cost;

		for (i = 0; i < 1000; i++) {
			CUdeviceptr p;

			cu.cuMemAlloc_v2(&p, bytes);
			cu.cuMemFree_v2(p);
		}
		cost = (ns_now() - start) / 1000;
		if (cost < best)
			best = cost;
	}
	return best;
}

static double info(void)
{
	double best = 1e9;
	int run, i;

	for (run = 0; run < 100; run++) {
		const double start = ns_now();
		double cost;
		size_t f, t;

		for (i = 0; i < 1000; i++)
			cu.cuMemGetInfo_v2(&f, &t);
		cost = (ns_now() - start) / 1000;
		if (cost < best)
			best = cost;
	}
	return best;
}

static double locked(void)
{
	static uint64_t word;
	const double start = ns_now();
	int i;

	for (i = 0; i < 1000000; i++)
		__atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
	return (ns_now() - start) / 1e6;
}

int main(void)
{
	double large, small, lone;
	CUdeviceptr keep;

	one_card("24G");
	driver_start("a");
	lone = pair(1000);
	CHECK_EQ(cu.cuMemAlloc_v2(&keep, 512), CUDA_SUCCESS);
	large = pair(4 * MIB);
	small = pair(1000);
	printf("pair of 4 MiB %.1f ns, of 1000 bytes %.1f ns, alone in its grain %.1f ns; memory "
	       "info %.1f ns; one atomic addition here %.1f ns\n",
	       large, small, lone, info(), locked());
	CHECK_LE(large, 2000);
	CHECK_LE(small, 2000);
	CHECK_LE(lone, 4000);
	return 0;
}
