/* See work.h. */
#include "options.h"
#include "work.h"

#include <sys/mman.h>

#define BATCH_NS 20000u /* between looks at the clock, about */

#define STEP 9 /* no two blocks begin within 1 << 9 bytes */

/*
 * The program's own list: small and in large pages, since at random its lines are what the program
 * itself waits for.
 */
static uint32_t *blocks_of(size_t count)
{
	const size_t large = (size_t)2 << 20;
	const size_t bytes = (count * sizeof(uint32_t) + large - 1) & ~(large - 1);
	uint32_t *const blocks = aligned_alloc(large, bytes);

	if (!blocks)
		STOP("no memory for %zu blocks", count);
	if (bytes > large / 4)
		madvise(blocks, bytes, MADV_HUGEPAGE);
	return blocks;
}

static inline uint32_t step_of(const struct work *work, CUdeviceptr block)
{
	const uint64_t step = (block - work->base) >> STEP;

	if (step > UINT32_MAX)
		STOP("blocks lie too far apart");
	return (uint32_t)step;
}

bool work_start(struct work *work, uint64_t patience_ns)
{
	const uint64_t until = now_ns() + patience_ns;
	CUdeviceptr block;

	work->random = 88172645463325252ull + (uint64_t)getpid() * 7919;
	if (work->door == DOOR_DLSYM)
		work->calls = calls_by_dlsym();
	else if (work->door == DOOR_RESOLVER)
		work->calls = calls_by_resolver();
	if (work->job == JOB_LAUNCH) {
		static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
					    ".visible .entry k() { ret; }";
		CUmodule module;

		NEED(cuModuleLoadData(&module, image));
		NEED(cuModuleGetFunction(&work->function, module, "k"));
	}
	work->block = blocks_of(work->live + 1);
	for (size_t i = 0; i < work->live; i++) {
		NEED(cuMemAlloc_v2(&block, work->bytes));
		if (!i)
			work->base = block - ((CUdeviceptr)1 << (31 + STEP));
		work->block[i] = step_of(work, block);
		if (i % 64 == 63 && now_ns() > until)
			return false;
	}
	return true;
}

/* `calls` is a constant for the direct link: the compiler then calls through the PLT. */
static inline __attribute__((always_inline)) void
times(struct work *work, const struct calls calls, uint64_t count)
{
	CUresult rc = CUDA_SUCCESS;

	if (work->job == JOB_INFO) {
		size_t bytes, total;

		for (uint64_t i = 0; i < count; i++)
			rc |= calls.info(&bytes, &total);
	} else if (work->job == JOB_LAUNCH) {
		for (uint64_t i = 0; i < count; i++)
			rc |= calls.launch(work->function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	} else if (work->order == ORDER_NEWEST || !work->live) {
		CUdeviceptr block;

		for (uint64_t i = 0; i < count; i++) {
			rc |= calls.alloc(&block, work->bytes);
			rc |= calls.free(block);
		}
	} else {
		const bool random = work->order == ORDER_RANDOM;
		CUdeviceptr block = 0;

		for (uint64_t i = 0; i < count; i++) {
			const size_t at = random ? random_next(&work->random) % work->live
						 : work->next;

			work->next = at + 1 < work->live ? at + 1 : 0;
			rc |= calls.free(work->base + ((CUdeviceptr)work->block[at] << STEP));
			rc |= calls.alloc(&block, work->bytes);
			work->block[at] = step_of(work, block);
		}
	}
	if (rc != CUDA_SUCCESS)
		STOP("a measured call failed: %d", rc);
}

__attribute__((noinline)) void work_count(struct work *work, uint64_t count)
{
	static const struct calls linked = {cuMemAlloc_v2, cuMemFree_v2, cuMemGetInfo_v2,
					    cuLaunchKernel};

	if (work->door == DOOR_LINK)
		times(work, linked, count);
	else
		times(work, work->calls, count);
}

uint64_t work_until(struct work *work, uint64_t end, uint64_t *elapsed_ns)
{
	const uint64_t waited = waited_ns(), start = now_ns();
	uint64_t count = 0, batch = 1, last = start, now, more;

	do {
		work_count(work, batch);
		count += batch;
		now = now_ns();
		if (now - last < BATCH_NS)
			batch *= 2;
		else if (now - last > 4 * BATCH_NS && batch > 1)
			batch /= 2;
		last = now;
	} while (now < end);
	more = waited_ns() - waited;
	*elapsed_ns = now - start > more ? now - start - more : 1;
	return count;
}
