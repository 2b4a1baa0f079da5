/* A plugin that carries a runtime, opened with RTLD_DEEPBIND, sees the cap. */
#include "doors/door.h"

static void client(void)
{
	void *const plugin = opened(built("tests/doors/plugin_runtime.so"),
				    RTLD_NOW | RTLD_DEEPBIND);
	void (*body)(void);

	*(void **)&body = dlsym(plugin, "plugin_sees_the_cap");
	CHECK(body != NULL);
	body();
}

DOOR_TEST(client)
