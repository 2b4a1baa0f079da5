/* Names in a second file that is a driver too are not found, by dlsym or by a walk of its symbol
 * table, and it is said once; the first one stays the process's own and capped. */
#include "doors/door.h"

#include <link.h>

static void *first;

static void *find(const char *symbol)
{
	return dlsym(first, symbol);
}

static void client(void)
{
	struct link_map *map;
	void *second;

	first = opened("libcuda.so.1", RTLD_NOW);
	second = opened(copy_of("simgpu/libcuda.so.1", "libcuda.so.1"), RTLD_NOW);
	CHECK(first != second);
	CHECK_EQ(dlinfo(second, RTLD_DI_LINKMAP, &map), 0);
	CHECK(!walk(map, "cuMemAlloc_v2"));
	CHECK(walk(map, "cuGetErrorName") != NULL);
	CHECK(!dlsym(second, "cuMemAlloc_v2"));
	CHECK(dlerror() != NULL);
	CHECK(!dlsym(second, "cuGetProcAddress_v2"));
	CHECK(!dlsym(second, "cuGetErrorName")); /* not hooked, but of the wrong driver */
	CHECK(dlerror() != NULL);
	sees_the_cap(find);
}

int main(int argc, char **argv)
{
	char line[4096] = "";
	const char *const again[] = {"sh", "-c", "exec 2>\"$TMPDIR/said\"; exec \"$0\" client",
				     argv[0], NULL};
	struct client c;
	FILE *said;
	int lines = 0;

	if (argc == 2) {
		client();
		return 0;
	}
	c = client_capped(again,
			  (const char *[]){"CUQUOTA_MEMORY_LIMIT=8G", "SIMGPU_DEVICES=24G", NULL});
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	snprintf(line, sizeof(line), "%s/said", getenv("TMPDIR"));
	said = fopen(line, "re");
	while (said && fgets(line, sizeof(line), said))
		lines += strstr(line, "another copy") != NULL;
	CHECK_EQ(lines, 1);
	return 0;
}
