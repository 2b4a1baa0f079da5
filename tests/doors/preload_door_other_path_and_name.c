/* A copy of the driver under another path and name is known by what it says it is, and capped. */
#include "doors/door.h"

static void *handle;

static void *find(const char *symbol)
{
	return dlsym(handle, symbol);
}

static void client(void)
{
	handle = opened(copy_of("simgpu/libcuda.so.1", "gpu-backend.bin"), RTLD_NOW);
	sees_the_cap(find);
}

DOOR_TEST(client)
