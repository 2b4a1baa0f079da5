/* The driver itself in a namespace of its own: what dlsym finds in it from outside is that
 * namespace's hook. */
#include "doors/door.h"

static void *handle;

static void *find(const char *symbol)
{
	return dlsym(handle, symbol);
}

static void client(void)
{
	void *base;

	handle = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
	if (!handle)
		FAIL("%s", dlerror());
	sees_the_cap(find);

	base = dlsym(opened("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
	CHECK(is_hook(base));
	CHECK(base != find("cuMemAlloc_v2")); /* each leads to its own driver */
}

DOOR_TEST(client)
