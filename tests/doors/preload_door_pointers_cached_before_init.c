/* A program that caches all pointers before it initialises, and then allocates from four threads, is capped from the
 * first allocation on: there is no warm-up.
 * report: HE-02 */
#include "doors/runtime.h"

#include <pthread.h>

static CUcontext context;

static void *find(const char *symbol)
{
	return runtime_get(symbol);
}

static void *first_allocation(void *start)
{
	CUdeviceptr pointer = 0;

	CHECK_RC(REACH(find, cuCtxSetCurrent)(context), CUDA_SUCCESS);
	pthread_barrier_wait(start);
	return (void *)(long)REACH(find, cuMemAlloc_v2)(&pointer, 9 * GIB);
}

static void client(void)
{
	pthread_barrier_t start;
	pthread_t threads[4];
	CUdevice device = 0;

	runtime_start();
	CHECK_RC(REACH(find, cuInit)(0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	pthread_barrier_init(&start, NULL, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, first_allocation, &start), 0);
	for (int i = 0; i < 4; i++) {
		void *rc;

		pthread_join(threads[i], &rc);
		CHECK_RC((long)rc, CUDA_ERROR_OUT_OF_MEMORY);
	}
	sees_the_cap(find);
}

DOOR_TEST(client)
