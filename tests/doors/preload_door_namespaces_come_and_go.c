/* Libraries that have nothing to do with the driver can be opened in new namespaces, and closed, as
 * often as without the library, which is silent. */
#include "doors/door.h"

static void loop(const char *file)
{
	for (int i = 0; i < 40; i++) {
		void *const handle = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);

		if (!handle)
			FAIL("%s, time %d: %s", file, i, dlerror());
		dlclose(handle);
	}
}

static void client(void)
{
	loop("libm.so.6");
	loop("libz.so.1");
}

DOOR_TEST(client)
