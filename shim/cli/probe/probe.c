/*
 * The small libraries that `cuquota doctor` carries along and opens as a program opens a plugin:
 * one linked with the driver (PROBE_LINKED), one that opens it and fills a table by its resolver,
 * as the CUDA runtime does inside a program.
 *
 * Promises: no constructor, no memory of the driver's; the one function gives the pointer that a
 * program would call under the driver's own name, NULL where there is none.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

__attribute__((visibility("default"))) void *cuquota_probe(const char *name);

#ifdef PROBE_LINKED
/* Weak: an older driver may lack some. */
#define NAME(symbol, base) extern int symbol(void) __attribute__((weak));
#include "names.def"
extern int cuDeviceGetUuid(void) __attribute__((weak));

static const struct {
	const char *name;
	int (*pointer)(void);
} linked[] = {
#define NAME(symbol, base) {#symbol, symbol},
#include "names.def"
	{"cuDeviceGetUuid", cuDeviceGetUuid},
};

void *cuquota_probe(const char *name)
{
	void *found = NULL;

	for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); i++)
		if (!strcmp(linked[i].name, name))
			memcpy(&found, &linked[i].pointer, sizeof(found));
	return found;
}
#else
#define NEWEST 12000 /* a version of CUDA that has all of the names */

static const struct {
	const char *name, *base;
} names[] = {
#define NAME(symbol, base) {#symbol, base},
#include "names.def"
	{"cuDeviceGetUuid", "cuDeviceGetUuid"},
};
#define COUNT (sizeof(names) / sizeof(*names))

static void *table[COUNT];

static void fill(void)
{
	void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *const second = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
	void *const first = driver ? dlsym(driver, "cuGetProcAddress") : NULL;
	void *const version = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
	int (*ask)(const char *, void **, int, unsigned long long, void *);
	int (*get_version)(int *);
	int newest = NEWEST, has = 0;

	memcpy(&ask, second ? &second : &first, sizeof(ask));
	memcpy(&get_version, &version, sizeof(get_version));
	if (get_version && !get_version(&has) && has < newest)
		newest = has;
	/* The first form takes one argument less, which does no harm to it. */
	for (size_t i = 0; ask && i < COUNT; i++)
		if (ask(names[i].base, &table[i], newest, 0, NULL))
			table[i] = NULL;
}

void *cuquota_probe(const char *name)
{
	static int filled;

	if (!filled)
		fill();
	filled = 1;
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(names[i].name, name))
			return table[i];
	return NULL;
}
#endif
