/*
 * The programs of the chaos test. Owns: the churner, which takes and gives memory of every kind in
 * up to three threads, forks children that outlive it, and ends at some time; and the witness,
 * which is never hurt and tells how long its own calls took, beyond what they waited for a
 * processor and for the simulated driver.
 */
#ifndef TESTS_STEP_CHURN_H
#define TESTS_STEP_CHURN_H

#include "client.h"

#include <pthread.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)
#define CARDS 2
#define ITEMS 24
#define BUDGET_NS 60000000ull /* that the others may cost a call */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

enum kind { LINEAR,
	    SMALL,
	    MANAGED,
	    VMM,
	    CONTEXT,
	    KINDS };

struct item {
	enum kind kind;
	bool taken;
	CUdeviceptr pointer;
	size_t bytes;
	CUmemGenericAllocationHandle handle;
	CUcontext made;
};

static struct churn {
	uint64_t seed;
	int card;
	unsigned steps;
	CUcontext primary;
	bool together; /* mostly memory by handle, and many children */
} churn;

static CUresult take_vmm(struct item *item, int card)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = card}};
	const CUresult rc = CU(cuMemCreate)(&item->handle, item->bytes, &prop, 0);

	if (rc != CUDA_SUCCESS)
		return rc;
	CHECK_EQ(CU(cuMemAddressReserve)(&item->pointer, item->bytes, 0, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemMap)(item->pointer, item->bytes, 0, item->handle, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemRelease)(item->handle), CUDA_SUCCESS);
	return rc;
}

static CUresult take_context(struct item *item, int card)
{
	CUcontext popped;
	const CUresult rc = CU(cuCtxCreate_v2)(&item->made, 0, card);

	if (rc == CUDA_SUCCESS)
		CHECK_EQ(CU(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
	return rc;
}

static CUresult item_take(struct item *item, int card, uint64_t *state)
{
	if (churn.together && below(state, 4))
		item->kind = VMM;
	else
		item->kind = (enum kind)below(state, below(state, 16) ? CONTEXT : KINDS);
	switch (item->kind) {
	case LINEAR:
		return CU(cuMemAlloc_v2)(&item->pointer, 1 + below(state, 48 * MIB));
	case SMALL:
		return CU(cuMemAlloc_v2)(&item->pointer, 1 + below(state, 100000));
	case MANAGED:
		return CU(cuMemAllocManaged)(&item->pointer, 1 + below(state, 24 * MIB),
					     CU_MEM_ATTACH_GLOBAL);
	case VMM:
		item->bytes = (1 + below(state, 32)) * 2 * MIB;
		return take_vmm(item, card);
	default:
		return take_context(item, card);
	}
}

static void item_give(const struct item *item)
{
	if (item->kind == VMM) {
		CHECK_EQ(CU(cuMemUnmap)(item->pointer, item->bytes), CUDA_SUCCESS);
		CHECK_EQ(CU(cuMemAddressFree)(item->pointer, item->bytes), CUDA_SUCCESS);
	} else if (item->kind == CONTEXT) {
		CHECK_EQ(CU(cuCtxDestroy_v2)(item->made), CUDA_SUCCESS);
	} else {
		CHECK_EQ(CU(cuMemFree_v2)(item->pointer), CUDA_SUCCESS);
	}
}

/*
 * A child that holds what its parent held, for a while, as the worker of a data loader that
 * outlives the trainer.
 */
static void fork_holder(uint64_t *state)
{
	const useconds_t us = (useconds_t)below(state, 200000);
	pid_t pid = fork();

	if (!pid) {
		usleep(us);
		_exit(0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void *churn_thread(void *arg)
{
	uint64_t state = churn.seed * 7919 + (uintptr_t)arg * 104729 + 1;
	struct item items[ITEMS] = {0};

	CHECK_EQ(CU(cuCtxSetCurrent)(churn.primary), CUDA_SUCCESS);
	for (unsigned step = 0; step < churn.steps; step++) {
		struct item *const item = &items[below(&state, ITEMS)];

		if (item->taken) {
			item_give(item);
			item->taken = false;
		} else {
			const CUresult rc = item_take(item, churn.card, &state);

			item->taken = rc == CUDA_SUCCESS;
			if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY)
				FAIL("kind %d: %d", (int)item->kind, (int)rc);
			for (unsigned i = 0; rc != CUDA_SUCCESS && i < ITEMS; i += 3)
				if (items[i].taken) {
					item_give(&items[i]);
					items[i].taken = false;
				}
		}
		if (!below(&state, churn.together ? 16 : 64))
			fork_holder(&state);
		/* Not to keep the machine busy, but many in the middle of something. */
		usleep((useconds_t)below(&state, 3000));
	}
	return NULL;
}

/* Ends with what it holds, when its steps are done. */
static int churner(const char *seed, bool together)
{
	pthread_t thread[2];
	unsigned threads;

	CHECK_SYS(setpgid(0, 0));
	CHECK_NE(nice(10), -1);
	churn.together = together;
	churn.seed = strtoull(seed, NULL, 10);
	churn.card = (int)(churn.seed % CARDS);
	churn.steps = 100 + (unsigned)(churn.seed / 2 % 2000);
	threads = (unsigned)(churn.seed / 4 % 3);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	while (CU(cuDevicePrimaryCtxRetain)(&churn.primary, churn.card) != CUDA_SUCCESS)
		usleep(5000);
	for (unsigned i = 0; i < threads; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, churn_thread, (void *)(uintptr_t)(i + 1)),
			 0);
	churn_thread(NULL);
	_exit(0);
}

/* ---- the witness ---- */

/*
 * What of a call's time is not ours: how long the thread was ready to run and waited for a
 * processor, and how long it waited for a lock of the simulated driver, which waits without end
 * where ours never do (F_OFD_SETLKW).
 */
static uint64_t in_driver_ns, call_began_ns;
static pid_t caller;

static bool waits_in_driver(void)
{
	char path[64], text[256] = "";
	unsigned long number = 0, file, command = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)caller);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return sscanf(text, "%lu 0x%lx 0x%lx", &number, &file, &command) == 3 &&
	       number == SYS_fcntl && command == F_OFD_SETLKW;
}

static void *watcher(void *arg)
{
	const struct timespec nap = {0, 1000000};
	uint64_t last = clock_ns();

	for (;;) {
		uint64_t now, began;

		nanosleep(&nap, NULL);
		now = clock_ns();
		began = __atomic_load_n(&call_began_ns, __ATOMIC_ACQUIRE);
		if (began && now - began > 5000000u && waits_in_driver())
			__atomic_add_fetch(&in_driver_ns, now - last, __ATOMIC_RELAXED);
		last = now;
	}
	return NULL;
}

struct waits {
	uint64_t worst_ns;		    /* beyond what is not ours */
	unsigned long calls, refused, over; /* over: beyond the budget */
};

/* How long this thread has waited for a processor so far; 0 where the kernel does not count it. */
static uint64_t waited_for_processor(void)
{
	static int file = -1;
	unsigned long long ran, waited = 0;
	char text[96] = "";

	if (file < 0)
		file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(file, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return 0;
	return waited;
}

/* One allocation, timed. What takes too long is told: it is what this test is for. */
static CUresult timed(struct waits *waits, CUdeviceptr *pointer, size_t bytes)
{
	uint64_t begin, all, ns, ready = waited_for_processor(), driver;
	CUresult rc;

	__atomic_store_n(&in_driver_ns, 0, __ATOMIC_RELAXED);
	begin = clock_ns();
	__atomic_store_n(&call_began_ns, begin, __ATOMIC_RELEASE);
	rc = CU(cuMemAlloc_v2)(pointer, bytes);
	all = clock_ns() - begin;
	__atomic_store_n(&call_began_ns, 0, __ATOMIC_RELEASE);
	ready = waited_for_processor() - ready;
	driver = __atomic_load_n(&in_driver_ns, __ATOMIC_RELAXED);
	ns = all > ready + driver ? all - ready - driver : 0;
	if (ns > waits->worst_ns)
		waits->worst_ns = ns;
	if (ns > BUDGET_NS) {
		waits->over++;
		fprintf(stderr,
			"(a call of %.1f ms, %.1f of it ready to run, %.1f in the driver: %d)\n",
			(double)all / 1e6, (double)ready / 1e6, (double)driver / 1e6, (int)rc);
	}
	waits->calls++;
	waits->refused += rc != CUDA_SUCCESS;
	return rc;
}

/*
 * On both cards: fills `bytes` in pieces and gives them back, until its input ends; says "calls
 * refused over worst_ns". Then one request beyond the limit, so that the dead are swept, and waits
 * for a line more.
 */
static int witness(const char *megabytes)
{
	const size_t piece = 16 * MIB;
	static CUdeviceptr held[CARDS][512];
	struct waits waits = {0};
	CUcontext primary[CARDS];
	struct pollfd input = {.fd = 0, .events = POLLIN};
	pthread_t thread;
	CUdeviceptr none;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	for (int i = 0; i < CARDS; i++)
		CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&primary[i], i), CUDA_SUCCESS);
	caller = (pid_t)syscall(SYS_gettid);
	CHECK_EQ(pthread_create(&thread, NULL, watcher, NULL), 0);
	dprintf(1, "ready\n");
	while (poll(&input, 1, 1) == 0) {
		for (int i = 0; i < CARDS; i++) {
			const unsigned want =
				(unsigned)(strtoul(megabytes, NULL, 10) * MIB / piece);
			unsigned count = 0;

			CHECK_EQ(CU(cuCtxSetCurrent)(primary[i]), CUDA_SUCCESS);
			while (count < want &&
			       timed(&waits, &held[i][count], piece) == CUDA_SUCCESS)
				count++;
			while (count)
				CHECK_EQ(CU(cuMemFree_v2)(held[i][--count]), CUDA_SUCCESS);
		}
	}
	for (;;) {
		char line[16];

		if (read(0, line, 1) != 1)
			return 0;
		for (int i = 0; i < CARDS; i++) {
			CHECK_EQ(CU(cuCtxSetCurrent)(primary[i]), CUDA_SUCCESS);
			CHECK_EQ(CU(cuMemAlloc_v2)(&none, 1ull << 40), CUDA_ERROR_OUT_OF_MEMORY);
		}
		dprintf(1, "%lu %lu %lu %llu\n", waits.calls, waits.refused, waits.over,
			(unsigned long long)waits.worst_ns);
	}
}

#endif
