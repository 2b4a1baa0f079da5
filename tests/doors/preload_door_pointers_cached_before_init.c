/* A program that caches all pointers before it initialises, and then initialises and allocates from
 * four threads, is capped from the first allocation on: there is no warm-up.
 * report: HE-02 */
#include "doors/runtime.h"
#include "simgpu/truth.h"

#include <pthread.h>

static void *find(const char *symbol)
{
	return runtime_get(symbol);
}

/* The first allocation is past the cap; of four of 3 GiB each, two fit. */
static void *work(void *start)
{
	CUcontext context = NULL;
	CUdeviceptr pointer = 0;
	CUdevice device = 0;

	pthread_barrier_wait(start);
	CHECK_RC(REACH(find, cuInit)(0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuCtxSetCurrent)(context), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&pointer, 9 * GIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(pointer, 0ull);
	pthread_barrier_wait(start);
	if (REACH(find, cuMemAlloc_v2)(&pointer, 3 * GIB) != CUDA_SUCCESS)
		pointer = 0;
	return (void *)(uintptr_t)pointer;
}

static void client(void)
{
	pthread_barrier_t start;
	pthread_t threads[4];
	CUdeviceptr held[4];
	int count = 0;

	runtime_start();
	pthread_barrier_init(&start, NULL, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, &start), 0);
	for (int i = 0; i < 4; i++) {
		void *pointer;

		pthread_join(threads[i], &pointer);
		held[count] = (CUdeviceptr)(uintptr_t)pointer;
		count += pointer != NULL;
	}
	CHECK_EQ(count, 2);
	CHECK_EQ(truth_max(NULL, 0, "cached") / (int64_t)GIB, (int64_t)6);
	for (int i = 0; i < count; i++) {
		CUcontext context = NULL;

		CHECK_RC(REACH(find, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
		CHECK_RC(REACH(find, cuCtxSetCurrent)(context), CUDA_SUCCESS);
		CHECK_RC(REACH(find, cuMemFree_v2)(held[i]), CUDA_SUCCESS);
	}
	sees_the_cap(find);
}

int main(int argc, char **argv)
{
	static const char *const env[] = {"SIMGPU_TAG=cached", NULL};

	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
