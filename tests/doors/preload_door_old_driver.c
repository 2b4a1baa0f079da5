/* A driver without the second resolver, pools, VMM and graphs: what it lacks is not found, our
 * exports for it answer so when called by hand, and the rest is capped.
 * report: CR-01 CR-02 */
#include "doors/door.h"

static void *driver;

static void *find(const char *symbol)
{
	return dlsym(driver, symbol);
}

static void client(void)
{
	void *const self = opened(built("libcuquota.so"), RTLD_NOW | RTLD_NOLOAD);
	CUmemGenericAllocationHandle handle = 0;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
	__typeof__(&cuGetProcAddress_v2) resolver;
	void *pointer = NULL;

	driver = opened("libcuda.so.1", RTLD_NOW);
	CHECK(!find("cuGetProcAddress_v2"));
	CHECK(!find("cuMemCreate"));
	CHECK(!find("cuMemAllocAsync"));
	CHECK(!dlsym(RTLD_DEFAULT, "cuMemCreate"));
	CHECK(is_hook(find("cuGetProcAddress")));
	sees_the_cap(find);

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK_RC(((__typeof__(&cuMemCreate))dlsym(self, "cuMemCreate"))(&handle, 2 << 20, &prop, 0),
		 CUDA_ERROR_NOT_FOUND);
	resolver = (__typeof__(resolver))dlsym(self, "cuGetProcAddress_v2");
	CHECK_RC(resolver("cuInit", &pointer, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, NULL};

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("tests/doors/old"));
	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
