/* A program that opens and closes the driver again and again, and keeps pointers, still has a
 * driver behind them. */
#include "doors/door.h"

static void *find(const char *symbol)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
	void *const pointer = dlsym(driver, symbol);

	CHECK_EQ(dlclose(driver), 0);
	return pointer;
}

static void client(void)
{
	void *const kept = find("cuGetErrorName"), *const hook = find("cuMemAlloc_v2");
	const char *name = NULL;

	for (int turn = 0; turn < 3; turn++) {
		CHECK_EQ(find("cuGetErrorName"), kept);
		CHECK_EQ(find("cuMemAlloc_v2"), hook);
	}
	CHECK_RC(((__typeof__(&cuGetErrorName))kept)(CUDA_SUCCESS, &name), CUDA_SUCCESS);
	CHECK_STR(name, "CUDA_SUCCESS");
	sees_the_cap(find);
}

DOOR_TEST(client)
