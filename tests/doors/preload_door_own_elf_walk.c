/* A program that reads the driver's symbol table by itself finds the hooks there. */
#include "doors/door.h"

static struct link_map *map;

static void *find(const char *symbol)
{
	return walk(map, symbol);
}

static void client(void)
{
	CHECK_EQ(dlinfo(opened("libcuda.so.1", RTLD_NOW), RTLD_DI_LINKMAP, &map), 0);
	sees_the_cap(find);
}

DOOR_TEST(client)
