/* RTLD_NEXT finds the hook where a driver comes after the caller, and nothing where none does. */
#include "doors/door.h"

static void *find(const char *symbol)
{
	return dlsym(RTLD_NEXT, symbol);
}

static void client(void)
{
	CHECK(!find("cuInit"));
	CHECK(!find("cuMemAlloc_v2"));
	CHECK(dlerror() != NULL);
	opened("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	sees_the_cap(find);
	CHECK(!dlerror());
}

DOOR_TEST(client)
