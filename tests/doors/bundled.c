/*
 * A library that a program brings along: it has functions under names like the driver's, looks
 * itself up, and is no driver.
 */
#include <dlfcn.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int cuMemAlloc_v2(void);
SHOWN int cuGetProcAddress_v2(void);
SHOWN int cuFoo(void);
SHOWN int cudnnCreate(void);
SHOWN int cublasCreate_v2(void);
SHOWN int cufftPlan1d(void);
SHOWN int nvmlInit_v2(void);
SHOWN int cudaMalloc(void);
SHOWN int cudaGetDeviceCount(void);
SHOWN const char *bundled_is_itself(const char *own_path);

int cuMemAlloc_v2(void)
{
	return 101;
}

int cuGetProcAddress_v2(void)
{
	return 102;
}

int cuFoo(void)
{
	return 103;
}

int cudnnCreate(void)
{
	return 104;
}

int cublasCreate_v2(void)
{
	return 105;
}

int cufftPlan1d(void)
{
	return 106;
}

int nvmlInit_v2(void)
{
	return 107;
}

int cudaMalloc(void)
{
	return 108;
}

int cudaGetDeviceCount(void)
{
	return 109;
}

/* The name that a look-up in our own handle does not lead to ourselves; NULL: none. */
const char *bundled_is_itself(const char *own_path)
{
	static const char *const names[] =
		{"cuMemAlloc_v2", "cuGetProcAddress_v2", "cuFoo",
		 "cudnnCreate", "cublasCreate_v2", "cufftPlan1d",
		 "nvmlInit_v2", "cudaMalloc", "cudaGetDeviceCount"};
	void *const self = dlopen(own_path, RTLD_NOW | RTLD_NOLOAD);

	for (int i = 0; i < 9; i++) {
		int (*function)(void);

		*(void **)&function = self ? dlsym(self, names[i]) : 0;
		if (!function || function() != 101 + i)
			return names[i];
	}
	return 0;
}
