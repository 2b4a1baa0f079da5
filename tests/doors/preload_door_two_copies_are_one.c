/* Preloaded twice, by two paths: the copy that comes first works and the other stands aside,
 * whichever order; each byte is charged once.
 * report: PG-07 */
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

/* The second copy's front end, called by hand, leaves everything to the first. */
static void client(const char *second)
{
	void *(*its_dlopen)(const char *, int);
	void *driver;

	*(void **)&its_dlopen = dlsym(opened(second, RTLD_NOW | RTLD_NOLOAD), "dlopen");
	CHECK(is_hook((void *)its_dlopen));
	driver = its_dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(driver != NULL);
	CHECK_EQ(dlsym(driver, "cuMemAlloc_v2"), (void *)&cuMemAlloc_v2);
	CHECK_EQ(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), (void *)&cuMemAlloc_v2);
	CHECK_EQ(dlsym(RTLD_NEXT, "cuMemAlloc_v2"), (void *)&cuMemAlloc_v2);
	sees_the_cap(linked); /* 6 of 8 GiB fit once, not twice */
}

int main(int argc, char **argv)
{
	const char *libraries[2];

	if (argc > 1) {
		client(argv[1]);
		return 0;
	}
	libraries[0] = built("libcuquota.so");
	libraries[1] = copy_of("libcuquota.so", "cuquota-again.so");
	for (int order = 0; order < 2; order++) {
		const char *const again[] = {"/proc/self/exe", libraries[1 - order], NULL};
		const char *const first = getenv("TEST_PRELOAD_FIRST");
		char preload[3 * PATH_MAX];
		const char *const env[] = {preload, "CUQUOTA_MEMORY_LIMIT=8G", "SIMGPU_DEVICES=24G",
					   NULL};
		struct client c;

		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s:%s:%s", first ? first : "",
			 libraries[order], libraries[1 - order]);
		c = client_start(again, env);
		CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	}
	return 0;
}
