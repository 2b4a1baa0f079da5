/* A plugin that opens the driver and looks up each symbol, opened with
 * RTLD_DEEPBIND, sees the cap. */
#include "doors/door.h"

static void client(void)
{
	void *const plugin = opened(built("tests/doors/plugin_opens.so"), RTLD_NOW | RTLD_DEEPBIND);
	void (*body)(void);

	*(void **)&body = dlsym(plugin, "plugin_sees_the_cap");
	CHECK(body != NULL);
	body();
}

DOOR_TEST(client)
