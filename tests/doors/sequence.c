/*
 * One program in three builds: linked with -lcuda, with dlopen and dlsym, with dlopen and dlvsym.
 * It prints the code of each call, what it is shown and what the ledger holds after it.
 */
#include "doors/door.h"
#include "ledger_now.h"

#ifdef LINKED
#define GET(symbol) (&symbol)
#else
static void *look_up(const char *symbol)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
#ifdef BY_DLVSYM
	void *const pointer = dlvsym(driver, symbol, "CUDA_1");
#else
	void *const pointer = dlsym(driver, symbol);
#endif

	if (!pointer)
		FAIL("%s is not found: %s", symbol, dlerror());
	return pointer;
}

#define GET(symbol) ((__typeof__(&symbol))look_up(#symbol))
#endif

static void step(const char *what, CUresult rc)
{
	size_t shown_free = 0, total = 0;
	const CUresult info = GET(cuMemGetInfo_v2)(&shown_free, &total);

	printf("%s %d, info %d %zu of %zu, ledger %llu; ", what, (int)rc, (int)info, shown_free,
	       total, (unsigned long long)ledger_used(NULL, NULL));
}

int main(void)
{
	CUdeviceptr pointer[4] = {0};
	CUcontext context = NULL;
	CUdevice device = -1;
	size_t bytes = 0;
	int count = -1;
	CUuuid uuid;

	memset(&uuid, 0, sizeof(uuid));
	printf("init %d; ", (int)GET(cuInit)(0));
	printf("count %d ", (int)GET(cuDeviceGetCount)(&count));
	printf("%d; ", count);
	printf("device 1 %d; ", (int)GET(cuDeviceGet)(&device, 1));
	printf("device 0 %d; ", (int)GET(cuDeviceGet)(&device, 0));
	printf("uuid %d ", (int)GET(cuDeviceGetUuid_v2)(&uuid, device));
	for (size_t i = 0; i < sizeof(uuid.bytes); i++)
		printf("%02x", (unsigned char)uuid.bytes[i]);
	printf("; bytes %d ", (int)GET(cuDeviceTotalMem_v2)(&bytes, device));
	printf("%zu; ", bytes);
	step("retain", GET(cuDevicePrimaryCtxRetain)(&context, device));
	step("set", GET(cuCtxSetCurrent)(context));
	for (int i = 0; i < 4; i++)
		step("alloc", GET(cuMemAlloc_v2)(&pointer[i], 3 * GIB));
	step("free", GET(cuMemFree_v2)(pointer[1]));
	step("bad", GET(cuMemFree_v2)(12345));
	step("again", GET(cuMemAlloc_v2)(&pointer[1], 4 * GIB));
	printf("\n");
	return 0;
}
