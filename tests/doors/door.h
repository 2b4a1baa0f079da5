/*
 * For the tests of the doors: one way of reaching the driver is right if a program that goes this
 * way sees the cap, since one that escapes runs happily. A test gives a way, a function from the
 * driver's symbol to a pointer.
 */
#ifndef TESTS_DOORS_DOOR_H
#define TESTS_DOORS_DOOR_H

#include "helper.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define GIB ((size_t)1 << 30)

/* Enums are unsigned, their constants are not. */
#define CHECK_RC(a, b) CHECK_EQ((int)(a), (int)(b))

typedef void *way(const char *symbol);

/* Does the pointer lead into a copy of our library? */
TEST_USED static bool is_hook(const void *pointer)
{
	Dl_info info;
	const char *slash;

	if (!pointer || !dladdr(pointer, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return strstr(slash ? slash : info.dli_fname, "cuquota") != NULL;
}

TEST_USED static void *need(way *find, const char *symbol)
{
	void *const pointer = find(symbol);

	if (!pointer)
		FAIL("%s is not found", symbol);
	return pointer;
}

#define REACH(find, symbol) ((__typeof__(&symbol))need(find, #symbol))

/* The cap of 8 GiB on a card of 24 GiB, as shown and as enforced. */
TEST_USED static void sees_the_cap(way *find)
{
	CUdevice device = -1;
	CUcontext context = NULL;
	CUdeviceptr most = 0, more = 0;
	size_t shown_free = 0, total = 0;

	CHECK(is_hook((void *)REACH(find, cuMemAlloc_v2)));
	CHECK(is_hook((void *)REACH(find, cuMemGetInfo_v2)));
	CHECK_RC(REACH(find, cuInit)(0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuCtxSetCurrent)(context), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuMemGetInfo_v2)(&shown_free, &total), CUDA_SUCCESS);
	CHECK_EQ(total, 8 * GIB);
	CHECK_LE(shown_free, total);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&most, 6 * GIB), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuMemAlloc_v2)(&more, 3 * GIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_RC(REACH(find, cuMemFree_v2)(most), CUDA_SUCCESS);
}

/* What the symbol table in memory says, read as a program does that wants no help; the table ends
 * where the strings begin. */
TEST_USED static void *walk(const struct link_map *map, const char *symbol)
{
	const ElfW(Sym) *sym = NULL;
	const char *strings = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
	}
	CHECK(sym && strings && (const char *)sym < strings);
	for (; (const char *)(sym + 1) <= strings; sym++)
		if (sym->st_shndx != SHN_UNDEF && sym->st_value &&
		    !strcmp(strings + sym->st_name, symbol))
			return (void *)(map->l_addr + sym->st_value);
	return NULL;
}

/* Runs this program again under the preload and the cap, as `argv[0] client`, and
 * ends with its success. */
TEST_USED static int again_capped(const char *const env[])
{
	static char self[PATH_MAX];
	const char *const argv[] = {self, "client", NULL};
	const char *all[32] = {"CUQUOTA_MEMORY_LIMIT=8G", "SIMGPU_DEVICES=24G"};
	struct client client;
	int n = 2;

	CHECK_SYS(readlink("/proc/self/exe", self, sizeof(self) - 1));
	for (; env && *env && n < 31; env++)
		all[n++] = *env;
	client = client_capped(argv, all);
	CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
	return 0;
}

/* A test whose client is `body`. */
#define DOOR_TEST(body)                            \
	int main(int argc, char **argv)            \
	{                                          \
		if (argc < 2)                      \
			return again_capped(NULL); \
		body();                            \
		return 0;                          \
	}

/* Copies a built file into the test's own folder; the result is the path of the copy. */
TEST_USED static const char *copy_of(const char *built_name, const char *as)
{
	static char path[4][PATH_MAX];
	static unsigned turn;
	char *const to = path[turn++ % 4];
	char block[65536];
	ssize_t got;
	int in, out;

	snprintf(to, PATH_MAX, "%s/%s", getenv("TMPDIR"), as);
	CHECK_SYS(in = open(built(built_name), O_RDONLY | O_CLOEXEC));
	CHECK_SYS(out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
	while ((got = read(in, block, sizeof(block))) > 0)
		CHECK_EQ(write(out, block, got), got);
	close(in);
	close(out);
	return to;
}

TEST_USED static void *opened(const char *file, int flags)
{
	void *const handle = dlopen(file, flags);

	if (!handle)
		FAIL("%s", dlerror());
	return handle;
}

#endif
