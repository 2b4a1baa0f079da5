/* A program that opens the C library and takes dlopen and dlsym out of its symbol table by itself
 * sees the cap. */
#include "doors/door.h"

static void *(*opens)(const char *file, int flags);
static void *(*looks)(void *handle, const char *symbol);

static void *find(const char *symbol)
{
	return looks(opens("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), symbol);
}

static void client(void)
{
	struct link_map *map = NULL;

	CHECK_EQ(dlinfo(opened("libc.so.6", RTLD_NOW), RTLD_DI_LINKMAP, &map), 0);
	*(void **)&opens = walk(map, "dlopen");
	*(void **)&looks = walk(map, "dlsym");
	CHECK(opens && looks);
	sees_the_cap(find);
}

DOOR_TEST(client)
