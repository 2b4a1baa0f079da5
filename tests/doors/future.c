/*
 * The simulated driver of the future: a newer ABI of two known names, an unknown allocator, an
 * unknown way to make a context, and a function that is neither. On loading it looks itself up, as
 * the driver of WSL2 does, and walks its stack.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

/* simgpu's own cuGetProcAddress_v2, by another name (doors.mk). */
CUresult sim_resolver(const char *symbol, void **pfn, int version, cuuint64_t flags,
		      CUdriverProcAddressQueryResult *status);

#pragma GCC visibility push(default)
int future_found_itself; /* 1: yes, -1: something else under its name */
int future_saw_program;	 /* frames of it that the walk reached */

int cuMemAlloc_v3(void);
int cuMemAlloc_v3(void)
{
	return 14;
}

int cuMemGetInfo_v3(void);
int cuMemGetInfo_v3(void)
{
	return 14;
}

int cuMemAllocShiny(void);
int cuMemAllocShiny(void)
{
	return 14;
}

int cuShinyCtxCreate(void);
int cuShinyCtxCreate(void)
{
	return 14;
}

int cuFrobnicate(void);
int cuFrobnicate(void)
{
	return 14;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	static const struct {
		const char *name;
		int (*function)(void);
	} added[] = {
		{"cuMemAlloc", cuMemAlloc_v3},
		{"cuMemGetInfo", cuMemGetInfo_v3},
		{"cuMemAllocShiny", cuMemAllocShiny},
		{"cuShinyCtxCreate", cuShinyCtxCreate},
		{"cuFrobnicate", cuFrobnicate},
	};

	if (!strcmp(symbol, "cuGetProcAddress") && version >= 12000) {
		*pfn = (void *)cuGetProcAddress_v2;
		if (status)
			*status = CU_GET_PROC_ADDRESS_SUCCESS;
		return CUDA_SUCCESS;
	}
	for (size_t i = 0; version >= 14000 && i < sizeof(added) / sizeof(*added); i++)
		if (!strcmp(symbol, added[i].name)) {
			*pfn = (void *)added[i].function;
			if (status)
				*status = CU_GET_PROC_ADDRESS_SUCCESS;
			return CUDA_SUCCESS;
		}
	return sim_resolver(symbol, pfn, version < 13050 ? version : 13050, flags, status);
}

void future_look(void);
void future_look(void)
{
	Dl_info info;
	void *self, *found;

	if (!dladdr((void *)future_look, &info))
		return;
	self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	found = self ? dlsym(self, "cuGetProcAddress_v2") : NULL;
	future_found_itself = found == (void *)cuGetProcAddress_v2 ? 1 : -1;
}
#pragma GCC visibility pop

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *depth)
{
	Dl_info info;
	const char *slash;

	if (dladdr((void *)_Unwind_GetIP(context), &info) &&
	    (slash = strrchr(info.dli_fname, '/')) && !strcmp(slash, "/preload_door_newer_driver"))
		future_saw_program++;
	return ++*(int *)depth > 64 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((constructor)) static void start(void)
{
	int depth = 0;

	future_look();
	_Unwind_Backtrace(frame, &depth);
}
