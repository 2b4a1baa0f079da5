/* A program that looks up nothing but cuGetProcAddress_v2 gets hooks from it, the resolvers themselves among them.
 * report: HE-01 */
#include "doors/door.h"

static __typeof__(&cuGetProcAddress_v2) ask;

static void *find(const char *symbol)
{
	char name[96];
	CUdriverProcAddressQueryResult status;
	void *pointer = NULL;

	snprintf(name, sizeof(name), "%s", symbol);
	if (strstr(name, "_v2"))
		*strstr(name, "_v2") = 0;
	CHECK_RC(ask(name, &pointer, 12000, 0, &status), CUDA_SUCCESS);
	CHECK_RC(status, CU_GET_PROC_ADDRESS_SUCCESS);
	return pointer;
}

static void client(void)
{
	__typeof__(&cuGetProcAddress) old;
	CUdeviceptr one = 0, two = 0;
	size_t before = 0, after = 0, total = 0;
	void *pointer = NULL;

	ask = (__typeof__(ask))dlsym(opened("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
	CHECK(is_hook((void *)ask));
	CHECK_RC(ask("cuGetProcAddress", &pointer, 12000, 0, NULL), CUDA_SUCCESS);
	CHECK_EQ((void *)pointer, (void *)ask);
	CHECK_RC(ask("cuGetProcAddress", &pointer, 11030, 0, NULL), CUDA_SUCCESS);
	CHECK(is_hook(pointer));
	old = (__typeof__(old))pointer;
	CHECK_RC(old("cuMemAlloc", &pointer, 11030, 0), CUDA_SUCCESS);
	CHECK_EQ(pointer, find("cuMemAlloc_v2"));
	CHECK_RC(old("cuMemAlloc", &pointer, 2000, 0), CUDA_SUCCESS); /* the 32-bit one */
	CHECK(is_hook(pointer));
	CHECK(pointer != find("cuMemAlloc_v2"));

	sees_the_cap(find);
	CHECK_RC(REACH(find, cuMemGetInfo_v2)(&before, &total), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&one, 600 << 20), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuMemGetInfo_v2)(&after, &total), CUDA_SUCCESS);
	CHECK_EQ(before - after, (size_t)600 << 20);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&two, 8 * GIB - (599 << 20)), CUDA_ERROR_OUT_OF_MEMORY);
}

DOOR_TEST(client)
