/* A plugin that opens the driver and looks up each symbol, in a namespace of
 * its own, sees the cap. */
#include "doors/door.h"

static void client(void)
{
	void *const plugin = dlmopen(LM_ID_NEWLM, built("tests/doors/plugin_opens.so"), RTLD_NOW);
	void (*body)(void);

	if (!plugin)
		FAIL("%s", dlerror());
	*(void **)&body = dlsym(plugin, "plugin_sees_the_cap");
	CHECK(body != NULL);
	body();
}

DOOR_TEST(client)
