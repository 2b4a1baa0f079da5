/*
 * The dynamic linker's own dlsym, dlvsym, dlopen and dlmopen.
 *
 * Owns: finding them without dlsym, by a walk of libc's symbol table: those names are this
 * library's own here.
 * Promises: no recursion into our front ends, no allocation, right before any constructor ran. What
 * the C library lacks (dlvsym and dlmopen on musl) is NULL.
 */
#ifndef DRIVER_LOADER_H
#define DRIVER_LOADER_H

#include <dlfcn.h>
#include <stdbool.h>

struct elf_image;

struct loader {
	void *(*sym)(void *handle, const char *name);
	void *(*vsym)(void *handle, const char *name, const char *version);
	void *(*open)(const char *file, int flags);
	void *(*mopen)(long namespace, const char *file, int flags);
};

const struct loader *loader_get(void);

/* Is this object one that may hold them: libc, libdl or musl's linker? */
bool loader_is_libc(const struct elf_image *image);
bool loader_is_libc_name(const char *path);

/* Our front end of that name; NULL: it has none. */
void *loader_front_end(const char *name);

#endif
