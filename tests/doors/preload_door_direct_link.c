/* A program linked with -lcuda sees the cap. Its calls never pass dlsym. */
#include "doors/door.h"

static void *linked(const char *symbol)
{
#define LINKED(sym)                \
	if (!strcmp(symbol, #sym)) \
	return (void *)&sym
	LINKED(cuInit);
	LINKED(cuDeviceGet);
	LINKED(cuDevicePrimaryCtxRetain);
	LINKED(cuCtxSetCurrent);
	LINKED(cuMemGetInfo_v2);
	LINKED(cuMemAlloc_v2);
	LINKED(cuMemFree_v2);
	return NULL;
}

static void client(void)
{
	sees_the_cap(linked);
}

DOOR_TEST(client)
