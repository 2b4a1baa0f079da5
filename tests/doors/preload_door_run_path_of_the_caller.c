/* What a library opens by name is found by that library's run path, not by ours: another library,
 * and the driver. */
#include "doors/door.h"

#include <sys/stat.h>

static void *driver;

static void *find(const char *symbol)
{
	return dlsym(driver, symbol);
}

static void client(void)
{
	char path[PATH_MAX];
	void *(*from_there)(const char *, int);
	struct link_map *map;
	Dl_info info;

	snprintf(path, sizeof(path), "%s/run_path.so", getenv("TMPDIR"));
	*(void **)&from_there = dlsym(opened(path, RTLD_NOW), "run_path_open");
	CHECK(!dlopen("libcuda.so.1", RTLD_NOW)); /* our own search does not lead there */
	CHECK(!dlopen("only-there.so", RTLD_NOW));
	CHECK(from_there("only-there.so", RTLD_NOW) != NULL);
	driver = from_there("libcuda.so.1", RTLD_NOW);
	if (!driver)
		FAIL("%s", dlerror());
	CHECK_EQ(dlinfo(driver, RTLD_DI_LINKMAP, &map), 0);
	CHECK(is_hook(walk(map, "cuMemAlloc_v2"))); /* before anybody looked up anything */
	sees_the_cap(find);
	CHECK(dladdr(find("cuGetErrorName"), &info));
	CHECK(strstr(info.dli_fname, "/private/libcuda.so.1"));
}

int main(int argc, char **argv)
{
	static const char *const env[] = {"LD_LIBRARY_PATH=", NULL};
	char path[PATH_MAX];

	if (argc == 2) {
		client();
		return 0;
	}
	snprintf(path, sizeof(path), "%s/private", getenv("TMPDIR"));
	CHECK_SYS(mkdir(path, 0755));
	copy_of("tests/doors/run_path.so", "run_path.so");
	copy_of("tests/doors/bundled.so", "private/only-there.so");
	copy_of("simgpu/libcuda.so.1", "private/libcuda.so.1");
	return again_capped(env);
}
