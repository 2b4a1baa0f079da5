/*
 * Allocates GPU memory, one step after the other, until it is refused, and prints
 * what CUDA says meanwhile.
 *
 *   cc -o hello examples/hello.c -ldl
 *   cuquota run --memory-limit 1G -- ./hello
 *   cuquota run --memory-limit 1G --simulate 1x24G -- ./hello        (no card needed)
 *
 * It needs no header of NVIDIA's and opens the driver by its name, as most frameworks do.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#define MIB (1024.0 * 1024.0)
#define STEP (256ul << 20)

static void *driver;

static void *entry(const char *name)
{
	void *const found = dlsym(driver, name);

	if (!found)
		printf("the driver has no %s\n", name);
	return found;
}

int main(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) {
		printf("no CUDA driver here: %s\n", dlerror());
		return 1;
	}

	int (*const init)(unsigned) = entry("cuInit");
	int (*const retain)(void **, int) = entry("cuDevicePrimaryCtxRetain");
	int (*const set_current)(void *) = entry("cuCtxSetCurrent");
	int (*const info)(size_t *, size_t *) = entry("cuMemGetInfo_v2");
	int (*const allocate)(unsigned long long *, size_t) = entry("cuMemAlloc_v2");
	unsigned long long block;
	size_t free_bytes, total;
	void *context;
	int code, blocks = 0;

	if (!init || !retain || !set_current || !info || !allocate)
		return 1;
	if ((code = init(0)) || (code = retain(&context, 0)) || (code = set_current(context))) {
		printf("cannot use the device: error %d\n", code);
		return 1;
	}
	do {
		code = info(&free_bytes, &total);
		if (!code)
			printf("%3d blocks of 256 MiB; free %.0f of %.0f MiB\n", blocks,
			       (double)free_bytes / MIB, (double)total / MIB);
		if (!code)
			code = allocate(&block, STEP);
		blocks += !code;
	} while (!code);
	printf("refused with error %d after %d blocks (2 is out of memory)\n", code, blocks);
	return code != 2;
}
