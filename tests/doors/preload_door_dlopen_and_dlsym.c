/* A program that opens the driver for itself alone and looks up each symbol sees the cap.
 * report: HE-03 */
#include "doors/door.h"

static void *find(const char *symbol)
{
	static void *handle;

	if (!handle)
		handle = opened("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	return dlsym(handle, symbol);
}

static void client(void)
{
	sees_the_cap(find);
}

DOOR_TEST(client)
