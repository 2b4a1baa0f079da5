/* The dynamic linker's own doors; see loader.h. */
#include "driver/loader.h"

#include "driver/elf.h"

#include <string.h>

bool loader_is_libc(const struct elf_image *image)
{
	return loader_is_libc_name(image->soname ? image->soname : image->path);
}

bool loader_is_libc_name(const char *path)
{
	const char *const slash = strrchr(path, '/');
	const char *const name = slash ? slash + 1 : path;

	return !strncmp(name, "libc.", 5) || !strncmp(name, "libdl.", 6) ||
	       !strncmp(name, "ld-musl", 7);
}

static void fill(const struct elf_image *image, void **entry, const char *name)
{
	const ElfW(Sym) *const sym = *entry ? NULL : elf_symbol(image, name);

	if (sym)
		*entry = elf_address(image, sym);
}

/* glibc before 2.34 has them in libdl, later ones in libc: whichever comes first in load order. */
static bool step(const struct elf_image *image, void *arg)
{
	struct loader *const loader = arg;

	if (loader_is_libc(image)) {
		fill(image, (void **)&loader->sym, "dlsym");
		fill(image, (void **)&loader->vsym, "dlvsym");
		fill(image, (void **)&loader->open, "dlopen");
		fill(image, (void **)&loader->mopen, "dlmopen");
	}
	return false;
}

const struct loader *loader_get(void)
{
	static struct loader loader;
	static bool known;
	struct loader found = {0};

	/* Threads that come at once store the same values. */
	if (__builtin_expect(!__atomic_load_n(&known, __ATOMIC_ACQUIRE), 0)) {
		elf_each(step, &found);
		__atomic_store_n(&loader.sym, found.sym, __ATOMIC_RELAXED);
		__atomic_store_n(&loader.vsym, found.vsym, __ATOMIC_RELAXED);
		__atomic_store_n(&loader.open, found.open, __ATOMIC_RELAXED);
		__atomic_store_n(&loader.mopen, found.mopen, __ATOMIC_RELAXED);
		__atomic_store_n(&known, true, __ATOMIC_RELEASE);
	}
	return &loader;
}

void *loader_front_end(const char *name)
{
	if (!strcmp(name, "dlsym"))
		return (void *)dlsym;
	if (!strcmp(name, "dlvsym"))
		return (void *)dlvsym;
	if (!strcmp(name, "dlopen"))
		return (void *)dlopen;
	return !strcmp(name, "dlmopen") ? (void *)dlmopen : NULL;
}
