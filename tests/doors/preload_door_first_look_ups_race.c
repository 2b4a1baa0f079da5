/* Sixteen threads reach the driver for the first time at once, each by another way, fifty times
 * over: all get the same hooks, and the driver's own functions stay behind them. */
#include "doors/door.h"

#include <pthread.h>

#define THREADS 16
#define STARTS 50

static pthread_barrier_t start;

static void *reach(void *arg)
{
	const long i = (long)arg;
	struct link_map *map;
	size_t shown_free = 0, total = 0;
	void *driver, *found;
	int version = 0;

	pthread_barrier_wait(&start);
	driver = opened("libcuda.so.1", i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
	if (i % 3 == 0) {
		CHECK_EQ(dlinfo(driver, RTLD_DI_LINKMAP, &map), 0);
		found = walk(map, "cuMemGetInfo_v2");
	} else if (i % 3 == 1) {
		found = dlsym(driver, "cuMemGetInfo_v2");
	} else {
		__typeof__(&cuGetProcAddress_v2) ask = (__typeof__(ask))
			dlsym(driver, "cuGetProcAddress_v2");

		CHECK_RC(ask("cuMemGetInfo", &found, 12000, 0, NULL), CUDA_SUCCESS);
	}
	CHECK(is_hook(found));
	CHECK_RC(((__typeof__(&cuDriverGetVersion))dlsym(driver, "cuDriverGetVersion"))(&version),
		 CUDA_SUCCESS);
	CHECK_GE(version, 11000);
	/* Into the driver, which has no context: were it led back into the
	 * wrapper, it would not end. */
	CHECK_NE((int)((__typeof__(&cuMemGetInfo_v2))found)(&shown_free, &total), CUDA_SUCCESS);
	return found;
}

static void client(void)
{
	pthread_t threads[THREADS];
	void *first = NULL, *found;

	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, reach, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &found);
		first = first ? first : found;
		CHECK_EQ(found, first);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		client();
		return 0;
	}
	for (int i = 0; i < STARTS; i++)
		again_capped(NULL);
	return 0;
}
