/* The measured functions by dlsym and by cuGetProcAddress. See bench.h. */
#include "bench.h"

#include <dlfcn.h>

static void *symbol(const char *name)
{
	void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *const found = driver ? dlsym(driver, name) : NULL;

	if (!found)
		STOP("%s: %s", name, dlerror());
	return found;
}

static void *resolved(const char *name)
{
	__typeof__(&cuGetProcAddress_v2) get;
	void *found = NULL;

	get = (__typeof__(get))symbol("cuGetProcAddress_v2");
	NEED(get(name, &found, 12000, 0, NULL));
	if (!found)
		STOP("cuGetProcAddress does not know %s", name);
	return found;
}

struct calls calls_by_dlsym(void)
{
	return (struct calls){
		.alloc = (__typeof__(&cuMemAlloc_v2))symbol("cuMemAlloc_v2"),
		.free = (__typeof__(&cuMemFree_v2))symbol("cuMemFree_v2"),
		.info = (__typeof__(&cuMemGetInfo_v2))symbol("cuMemGetInfo_v2"),
		.launch = (__typeof__(&cuLaunchKernel))symbol("cuLaunchKernel"),
	};
}

struct calls calls_by_resolver(void)
{
	return (struct calls){
		.alloc = (__typeof__(&cuMemAlloc_v2))resolved("cuMemAlloc"),
		.free = (__typeof__(&cuMemFree_v2))resolved("cuMemFree"),
		.info = (__typeof__(&cuMemGetInfo_v2))resolved("cuMemGetInfo"),
		.launch = (__typeof__(&cuLaunchKernel))resolved("cuLaunchKernel"),
	};
}
