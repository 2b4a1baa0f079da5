/* A plugin that was opened with RTLD_DEEPBIND, is told the driver's name only then, and is bound to
 * the older version of dlopen, sees the cap. */
#include "doors/door.h"

static void *(*finds)(const char *file, const char *symbol);

static void *find(const char *symbol)
{
	return finds("libcuda.so.1", symbol);
}

static void client(void)
{
	void *const plugin = opened(built("tests/doors/secret_old.so"), RTLD_NOW | RTLD_DEEPBIND);

	*(void **)&finds = dlsym(plugin, "secret_finds");
	CHECK(finds != NULL);
	sees_the_cap(find);
}

DOOR_TEST(client)
