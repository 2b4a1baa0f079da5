/* dlsym and its fellows taken out of libc by hand are the front ends, by any
 * handle and any version. */
#include "doors/door.h"

static void *(*libc_dlsym)(void *, const char *);
static void *handle;

static void *find(const char *symbol)
{
	return libc_dlsym(handle, symbol);
}

static void by_version(void *from, const char *version)
{
	void *const found = dlvsym(from, "dlsym", version);

	CHECK(!found || is_hook(found)); /* a version that this libc does not have */
}

static void client(void)
{
	static const char *const doors[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
	void *const libc = opened("libc.so.6", RTLD_NOW);
	void *(*libc_dlopen)(const char *, int);

	for (int i = 0; i < 4; i++) {
		void *const found = dlsym(libc, doors[i]);

		if (!found)
			SKIP("this libc keeps dlsym in libdl");
		CHECK(is_hook(found));
		CHECK(is_hook(dlsym(RTLD_DEFAULT, doors[i])));
		CHECK(is_hook(dlsym(RTLD_NEXT, doors[i])));
	}
	by_version(libc, "GLIBC_2.2.5");
	by_version(libc, "GLIBC_2.34");
	by_version(RTLD_NEXT, "GLIBC_2.34");
	by_version(RTLD_DEFAULT, "GLIBC_2.34");

	*(void **)&libc_dlsym = dlsym(libc, "dlsym");
	*(void **)&libc_dlopen = libc_dlsym(libc, "dlopen");
	handle = libc_dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(handle != NULL);
	sees_the_cap(find);
}

DOOR_TEST(client)
