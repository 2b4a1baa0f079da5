/* Every query that NVIDIA's runtime makes at start gets our wrapper where there is one, and else
 * what the bare driver answers; what the driver does not have stays not found. */
#include "doors/runtime.h"

static void client(void)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
	int hooks = 0;

	runtime_start();
	for (int i = 0; i < runtime_count; i++) {
		const struct lookup *const row = &runtime_rows[i];
		void *const by_name = dlsym(driver, row->symbol);

		if (!strcmp(row->symbol, "NOTFOUND")) {
			if (row->pointer)
				FAIL("%s, %d, %lu is found", row->name, row->version, row->flags);
			continue;
		}
		/* What dlsym and the resolver say must be the same, be it a
		 * wrapper or the driver's own. */
		if (!row->pointer || row->pointer != by_name)
			FAIL("%s, %d, %lu is %p, want %p of %s", row->name, row->version,
			     row->flags, row->pointer, by_name, row->symbol);
		hooks += is_hook(row->pointer);
	}
	CHECK_GE(hooks, 6); /* the resolvers, allocation and what is shown, at the least */
	sees_the_cap(runtime_get);
}

int main(int argc, char **argv)
{
	/* so was the driver that the list is of */
	static const char *const env[] = {"SIMGPU_GRAPHICS=off", NULL};

	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
