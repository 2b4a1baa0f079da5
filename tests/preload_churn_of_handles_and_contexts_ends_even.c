/*
 * Eight threads make and drop contexts and memory by handle in random order, share addresses and
 * handles, and free what others free too; whenever all pause, the account says what the device
 * holds, and at the end nothing is left.
 */
#include "steps.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define PIECE (2 * MIB)
#define THREADS 8

#define KEPT 32 /* by each thread over a pause, so that what was refunded too early shows */

static CUmemGenericAllocationHandle shared[THREADS], kept[THREADS][KEPT];
/* Looked up once: a look-up at each call would keep the threads apart. */
static __typeof__(&cuMemCreate) mem_create;
static __typeof__(&cuMemRelease) mem_release;
static CUdeviceptr shared_at;
static unsigned rounds = 400;

static unsigned next(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static CUmemGenericAllocationHandle create(unsigned size)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						       .id = 0}};
	CUmemGenericAllocationHandle handle;

	CHECK_EQ(mem_create(&handle, size * PIECE, &prop, 0), CUDA_SUCCESS);
	return handle;
}

/* At an address that is the thread's own, at handles that are all threads'; any of these may be
 * refused by the driver. */
static void meddle(unsigned own, unsigned *seed)
{
	const CUdeviceptr here = shared_at + own * PIECE;
	const unsigned place = next(seed) % THREADS;
	CUmemGenericAllocationHandle handle = 0;

	switch (next(seed) % 4) {
	case 0:
		handle = create(1);
		handle = __atomic_exchange_n(&shared[place], handle, __ATOMIC_ACQ_REL);
		if (handle)
			CHECK_EQ(mem_release(handle), CUDA_SUCCESS);
		break;
	case 1:
		handle = create(1);
		(void)!CU(cuMemMap)(here, PIECE, 0, handle, 0);
		CHECK_EQ(mem_release(handle), CUDA_SUCCESS);
		break;
	case 2:
		(void)!CU(cuMemUnmap)(here, PIECE);
		break;
	default:
		if (CU(cuMemRetainAllocationHandle)(&handle, (void *)(shared_at + place * PIECE)) ==
		    CUDA_SUCCESS)
			CHECK_EQ(mem_release(handle), CUDA_SUCCESS);
	}
}

static void contexts(unsigned *seed)
{
	CUcontext context;

	if (next(seed) % 2) {
		CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
		CHECK_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
	} else {
		CHECK_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
		CHECK_EQ(CU(cuCtxDestroy_v2)(context), CUDA_SUCCESS);
	}
}

static void keep(CUmemGenericAllocationHandle *mine, unsigned *seed)
{
	for (unsigned i = 0; i < 64; i++) {
		CUmemGenericAllocationHandle *const place = &mine[next(seed) % KEPT];

		if (*place)
			CHECK_EQ(mem_release(*place), CUDA_SUCCESS);
		*place = *place ? 0 : create(1 + next(seed) % 3);
	}
}

static void *churn(void *arg)
{
	unsigned seed = 7 + (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < rounds; i++)
		switch (next(&seed) % 8) {
		case 0:
			contexts(&seed);
			break;
		case 1:
		case 2:
			keep(kept[(uintptr_t)arg % THREADS], &seed);
			break;
		default:
			meddle((uintptr_t)arg % THREADS, &seed);
		}
	return NULL;
}

static int child(void)
{
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	mem_create = CU(cuMemCreate);
	mem_release = CU(cuMemRelease);
	CHECK_EQ(CU(cuMemAddressReserve)(&shared_at, THREADS * PIECE, 0, 0, 0), CUDA_SUCCESS);
	for (unsigned turn = 0; turn < (test_long() ? 50 : 5); turn++) {
		pthread_t thread[THREADS];

		for (uintptr_t i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, churn,
						(void *)(i + turn * THREADS)),
				 0);
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_join(thread[i], NULL), 0);
		step_say("pause", 0, 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		(void)!CU(cuMemUnmap)(shared_at + i * PIECE, PIECE);
		if (shared[i])
			CHECK_EQ(mem_release(shared[i]), CUDA_SUCCESS);
	}
	for (unsigned i = 0; i < THREADS * KEPT; i++)
		if (kept[i / KEPT][i % KEPT])
			CHECK_EQ(mem_release(kept[i / KEPT][i % KEPT]), CUDA_SUCCESS);
	step_say("the end", 0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=12G", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_GE(steps_follow(&c, 2 * MIB), 6u);
	CHECK_EQ(truth_resident(NULL, 1), 0ll);
	return 0;
}
