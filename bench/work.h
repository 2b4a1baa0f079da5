/*
 * One thread's measured work: pairs of allocation and free in the order asked for, memory
 * queries or launches.
 *
 * Promises: the loop holds nothing but the calls, a random number where the order wants one, and
 * a look at the clock every few microseconds. What the thread waited for a processor is known
 * apart, so that a busy machine does not look like cost.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "bench.h"

enum job {
	JOB_PAIR,
	JOB_INFO,
	JOB_LAUNCH,
	JOB_IDLE,
};

enum door {
	DOOR_LINK,
	DOOR_DLSYM,
	DOOR_RESOLVER,
};

enum order {
	ORDER_NEWEST, /* what was just allocated is freed, above the live blocks */
	ORDER_OLDEST, /* the live blocks in turn */
	ORDER_RANDOM,
};

struct work {
	enum job job;
	enum door door;
	enum order order;
	size_t live, bytes;
	struct calls calls;
	CUfunction function;
	uint32_t *block; /* the live ones, in steps from `base` */
	CUdeviceptr base;
	size_t next;
	uint64_t random;
};

/* Makes the live blocks; false when that took longer than `patience_ns`. The context is current. */
bool work_start(struct work *work, uint64_t patience_ns);
/* Works until the time `end`; how often, and how long it took without waits for a processor. */
uint64_t work_until(struct work *work, uint64_t end, uint64_t *elapsed_ns);
/* Works `count` times. A function of its own, which valgrind can be told to count. */
void work_count(struct work *work, uint64_t count);

#endif
