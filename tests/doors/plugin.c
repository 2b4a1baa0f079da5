/*
 * Plugins that reach the driver by themselves; PLUGIN says how: LINKED against it, OPENS it and
 * looks up each symbol, or carries a RUNTIME. Their one function checks the cap.
 */
#ifdef PLUGIN_RUNTIME
#include "doors/runtime.h"
#else
#include "doors/door.h"
#endif

__attribute__((visibility("default"))) void plugin_sees_the_cap(void);

#ifdef PLUGIN_LINKED
static void *find(const char *symbol)
{
	static const struct {
		const char *name;
		void *pointer;
	} linked[] = {
		{"cuInit", (void *)&cuInit},
		{"cuDeviceGet", (void *)&cuDeviceGet},
		{"cuDevicePrimaryCtxRetain", (void *)&cuDevicePrimaryCtxRetain},
		{"cuCtxSetCurrent", (void *)&cuCtxSetCurrent},
		{"cuMemGetInfo_v2", (void *)&cuMemGetInfo_v2},
		{"cuMemAlloc_v2", (void *)&cuMemAlloc_v2},
		{"cuMemFree_v2", (void *)&cuMemFree_v2},
	};

	for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); i++)
		if (!strcmp(linked[i].name, symbol))
			return linked[i].pointer;
	return NULL;
}
#elif defined(PLUGIN_OPENS)
static void *find(const char *symbol)
{
	return dlsym(opened("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), symbol);
}
#elif defined(PLUGIN_RUNTIME)
#define find runtime_get
#else
static void *find(const char *symbol)
{
	return NULL;
}
#endif

void plugin_sees_the_cap(void)
{
	sees_the_cap(find);
}
