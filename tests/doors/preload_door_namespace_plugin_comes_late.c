/* A namespace that began with something harmless: a plugin that comes later and opens the driver by
 * a name that its file does not hold sees the cap. */
#include "doors/door.h"

static void *(*finds)(const char *file, const char *symbol);

static void *find(const char *symbol)
{
	return finds("libcuda.so.1", symbol);
}

static void client(void)
{
	void *const first = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
	void *plugin;
	Lmid_t id;

	CHECK(first != NULL);
	CHECK_EQ(dlinfo(first, RTLD_DI_LMID, &id), 0);
	CHECK(!dlmopen(id, built("tests/doors/plugin_linked.so"), RTLD_NOW));
	plugin = dlmopen(id, built("tests/doors/secret.so"), RTLD_NOW);
	if (!plugin)
		FAIL("%s", dlerror());
	*(void **)&finds = dlsym(plugin, "secret_finds");
	CHECK(finds != NULL);
	sees_the_cap(find);
}

DOOR_TEST(client)
