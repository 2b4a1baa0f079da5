/* A program that looks up nothing but cuGetProcAddress_v2 gets hooks from it, the
 * resolvers themselves among them. Under 1 GiB it has 600 MiB once and not twice, and the
 * ledger holds 600 MiB more.
 * report: HE-01 */
#include "doors/door.h"
#include "ledger_now.h"

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
}

static void once_but_not_twice(void)
{
	const size_t bytes = (size_t)600 << 20;
	size_t before = 0, after = 0, total = 0;
	CUdeviceptr one = 0, two = 0;
	CUcontext context;
	uint64_t context_used;

	ask = (__typeof__(ask))dlsym(opened("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
	CHECK_RC(REACH(find, cuInit)(0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuCtxSetCurrent)(context), CUDA_SUCCESS);
	context_used = ledger_used(NULL, NULL);
	CHECK_RC(REACH(find, cuMemGetInfo_v2)(&before, &total), CUDA_SUCCESS);
	CHECK_EQ(total, GIB);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&one, bytes), CUDA_SUCCESS);
	CHECK_EQ(ledger_used(NULL, NULL) - context_used, (uint64_t)bytes);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&two, bytes), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(ledger_used(NULL, NULL) - context_used, (uint64_t)bytes);
	CHECK_RC(REACH(find, cuMemGetInfo_v2)(&after, &total), CUDA_SUCCESS);
	CHECK_EQ(before - after, bytes);
}

int main(int argc, char **argv)
{
	static const char *const small[] = {"CUQUOTA_MEMORY_LIMIT=1G", "CUQUOTA_TENANT=small",
					    "SIMGPU_CONTEXT=300M", NULL};

	if (argc < 2)
		return again_capped(NULL) || again_capped(small);
	if (!strcmp(getenv("CUQUOTA_MEMORY_LIMIT"), "1G"))
		once_but_not_twice();
	else
		client();
	return 0;
}
