/* The runtime's fallback where a driver has no resolver: dlsym of each versioned
 * name, about 440 of them. */
#include "doors/runtime.h"

static void *find(const char *symbol)
{
	return dlsym(opened("libcuda.so.1", RTLD_NOW), symbol);
}

static void client(void)
{
	const int count = lookups_read(runtime_rows);
	int hooks = 0;

	for (int i = 0; i < count; i++) {
		const char *const symbol = runtime_rows[i].symbol;
		void *const pointer = strcmp(symbol, "NOTFOUND") ? need(find, symbol) : NULL;

		hooks += pointer && is_hook(pointer);
	}
	CHECK_GE(hooks, 6);
	sees_the_cap(find);
}

DOOR_TEST(client)
