/*
 * A small stand-in for NVIDIA's runtime as nvcc puts it into programs: it opens the driver by name,
 * looks up one symbol, and asks that one for all others, each at the version in which its ABI began
 * (tests/data/cudart-lookups.txt).
 */
#ifndef TESTS_DOORS_RUNTIME_H
#define TESTS_DOORS_RUNTIME_H

#include "doors/door.h"

struct lookup {
	char name[96];
	int version;
	unsigned long flags;
	char symbol[96]; /* what answers; NOTFOUND: nothing, and that is accepted */
	void *pointer;
};

#define LOOKUPS_MOST 600

/* The file's rows; the count. */
TEST_USED static int lookups_read(struct lookup *rows)
{
	char path[PATH_MAX], line[256];
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "%s/tests/data/cudart-lookups.txt", getenv("SOURCE"));
	file = fopen(path, "re");
	if (!file)
		FAIL("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		struct lookup *const row = &rows[n];
		const size_t name = strcspn(line, ",");

		if (*line == '#' || !strstr(line, " -> "))
			continue;
		snprintf(row->name, sizeof(row->name), "%.*s", (int)name, line);
		CHECK_EQ(sscanf(line + name, ",%d,%lu -> %95s", &row->version, &row->flags,
				row->symbol),
			 3);
		CHECK(++n < LOOKUPS_MOST);
	}
	fclose(file);
	CHECK_GE(n, 400);
	return n;
}

static struct lookup runtime_rows[LOOKUPS_MOST];
static int runtime_count;

TEST_USED static void runtime_start(void)
{
	__typeof__(&cuGetProcAddress_v2) ask;
	void *const driver = opened("libcuda.so.1", RTLD_NOW);

	ask = (__typeof__(ask))dlsym(driver, "cuGetProcAddress_v2");
	if (!ask)
		FAIL("%s", dlerror());
	runtime_count = lookups_read(runtime_rows);
	for (int i = 0; i < runtime_count; i++) {
		struct lookup *const row = &runtime_rows[i];

		if (ask(row->name, &row->pointer, row->version, row->flags, NULL) != CUDA_SUCCESS)
			row->pointer = NULL;
	}
}

TEST_USED static void *runtime_get(const char *symbol)
{
	if (!runtime_count)
		runtime_start();
	for (int i = 0; i < runtime_count; i++)
		if (!strcmp(runtime_rows[i].symbol, symbol))
			return runtime_rows[i].pointer;
	return NULL;
}

#endif
