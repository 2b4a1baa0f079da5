/* RTLD_DEFAULT finds the hook where the program can see a driver, and nothing where it cannot. */
#include "doors/door.h"

static void *find(const char *symbol)
{
	return dlsym(RTLD_DEFAULT, symbol);
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
