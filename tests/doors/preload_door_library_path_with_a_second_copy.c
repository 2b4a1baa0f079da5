/* LD_LIBRARY_PATH leads to a second copy of the driver and of NVML: the real calls go to the copy
 * that the program would have loaded, under the cap, and the other one is not even opened.
 * report: HE-05 */
#include "doors/door.h"

#include <link.h>

static void *find(const char *symbol)
{
	return dlsym(opened("libcuda.so.1", RTLD_NOW), symbol);
}

static int step(struct dl_phdr_info *info, size_t size, void *second)
{
	const char *const slash = strrchr(info->dlpi_name, '/');

	if (slash && (!strcmp(slash, "/libcuda.so.1") || !strcmp(slash, "/libnvidia-ml.so.1")) &&
	    strncmp(info->dlpi_name, second, strlen(second)))
		FAIL("%s is loaded, want only those in %s", info->dlpi_name, (char *)second);
	return 0;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, NULL};
	Dl_info info;

	if (argc < 2) {
		copy_of("simgpu/libcuda.so.1", "libcuda.so.1");
		copy_of("simgpu/libnvidia-ml.so.1", "libnvidia-ml.so.1");
		snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s:%s", getenv("TMPDIR"),
			 built("simgpu"));
		return again_capped(env);
	}
	sees_the_cap(find);
	CHECK(dlsym(opened("libnvidia-ml.so.1", RTLD_NOW), "nvmlInit_v2") != NULL);
	CHECK(dladdr(find("cuGetErrorName"), &info)); /* never hooked */
	CHECK_EQ(strncmp(info.dli_fname, getenv("TMPDIR"), strlen(getenv("TMPDIR"))), 0);
	dl_iterate_phdr(step, getenv("TMPDIR"));
	return 0;
}
