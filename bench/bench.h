/*
 * For the programs of the bench: the driver's functions by each door, clocks, and complaints.
 *
 * Promises: what is measured is called as a program would call it; a driver call that fails ends
 * the program with a line on stderr. Must never: include anything of the shim, so that any
 * preloaded library can be measured.
 */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define BENCH_USED __attribute__((unused))
#define MIB ((size_t)1 << 20)
#define MS 1000000ull /* in ns */

#define STOP(...)                                                                           \
	do {                                                                                \
		fprintf(stderr, "bench: %s:%d: ", program_invocation_short_name, __LINE__); \
		fprintf(stderr, __VA_ARGS__);                                               \
		fputc('\n', stderr);                                                        \
		_exit(1);                                                                   \
	} while (0)
#define NEED(call)                                       \
	do {                                             \
		const CUresult need_rc_ = (call);        \
		if (need_rc_ != CUDA_SUCCESS)            \
			STOP("%s: %d", #call, need_rc_); \
	} while (0)

BENCH_USED static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * How long a loop takes that could do a step in each cycle, on the processor: ns. Whoever shares
 * the core with us makes it slower, a program on another core does not.
 */
BENCH_USED static uint64_t pace_ns(void)
{
	struct timespec a, b;
	volatile uint32_t place;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (uint32_t i = 0; i < 60000; i++)
		place = i;
	(void)place;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec -
	       (uint64_t)a.tv_nsec;
}

BENCH_USED static void sleep_until(uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* What is measured; each is had by the door that the row names. */
struct calls {
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemFree_v2) free;
	__typeof__(&cuMemGetInfo_v2) info;
	__typeof__(&cuLaunchKernel) launch;
};

/* By dlsym on a handle of the driver, or by cuGetProcAddress had in that way. */
struct calls calls_by_dlsym(void);
struct calls calls_by_resolver(void);

/* Starts the driver and makes the first card's primary context current; returns it. */
BENCH_USED static CUcontext context_start(void)
{
	CUcontext context;
	CUdevice device;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
	return context;
}

/* xorshift; never 0 */
BENCH_USED static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
