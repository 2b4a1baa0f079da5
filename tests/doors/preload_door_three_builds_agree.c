/* One program linked with -lcuda, with dlopen and dlsym, and with dlopen and dlvsym: the same codes and figures.
 * report: HE-04 */
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

static void *by_dlsym(const char *symbol)
{
	return dlsym(opened("libcuda.so.1", RTLD_NOW), symbol);
}

/* The driver's symbols have no version: what dlvsym says of it without us, it says with us. */
static void *by_dlvsym(const char *symbol)
{
	void *const pointer = dlvsym(opened("libcuda.so.1", RTLD_NOW), symbol, "libcuda.so.1");

	return pointer ? pointer : by_dlsym(symbol);
}

static void sequence(way *find)
{
	CUdeviceptr pointer[4] = {0};
	size_t shown_free = 0, total = 0;
	CUcontext context;

	printf("init %d", REACH(find, cuInit)(0));
	printf(" retain %d", REACH(find, cuDevicePrimaryCtxRetain)(&context, 0));
	printf(" set %d", REACH(find, cuCtxSetCurrent)(context));
	for (int i = 0; i < 4; i++)
		printf(" alloc %d", REACH(find, cuMemAlloc_v2)(&pointer[i], 3 * GIB));
	printf(" free %d", REACH(find, cuMemFree_v2)(pointer[1]));
	printf(" bad %d", REACH(find, cuMemFree_v2)(12345));
	printf(" info %d", REACH(find, cuMemGetInfo_v2)(&shown_free, &total));
	printf(" %zu of %zu\n", shown_free, total);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=8G", "SIMGPU_DEVICES=24G", NULL};
	static const char *const forms[] = {"linked", "dlsym", "dlvsym"};
	char *said[3];

	if (argc == 2) {
		sequence(*argv[1] == 'l' ? linked : argv[1][2] == 's' ? by_dlsym
								      : by_dlvsym);
		return 0;
	}
	for (int i = 0; i < 3; i++) {
		const char *const again[] = {"/proc/self/exe", forms[i], NULL};
		struct client c = client_capped(again, env);

		said[i] = strdup(client_line(&c, DEADLINE_MS));
		CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	}
	CHECK(strstr(said[0], "alloc 0 alloc 0 alloc 2 alloc 2 free 0"));
	CHECK_STR(said[1], said[0]);
	CHECK_STR(said[2], said[0]);
	return 0;
}
