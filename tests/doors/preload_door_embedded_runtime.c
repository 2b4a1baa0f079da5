/* A program with the runtime inside, as nvcc links it by default, sees the cap. */
#include "doors/runtime.h"

static void client(void)
{
	sees_the_cap(runtime_get);
}

DOOR_TEST(client)
