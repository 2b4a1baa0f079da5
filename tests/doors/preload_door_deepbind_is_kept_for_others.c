/* RTLD_DEEPBIND is dropped only where the driver is named: a library that has nothing
 * to do with it keeps it. */
#include "doors/door.h"

__attribute__((visibility("default"))) int who_is_it(void);

int who_is_it(void)
{
	return 1;
}

static int asks(const char *file, int flags)
{
	int (*function)(void);

	*(void **)&function = dlsym(opened(file, flags), "deep_asks");
	CHECK(function != NULL);
	return function();
}

static void client(void)
{
	CHECK_EQ(asks(built("tests/doors/deep.so"), RTLD_NOW | RTLD_DEEPBIND), 2);
	CHECK_EQ(asks(copy_of("tests/doors/deep.so", "shallow.so"), RTLD_NOW), 1);
}

DOOR_TEST(client)
