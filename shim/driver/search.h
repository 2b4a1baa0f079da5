/*
 * Files that are not loaded yet: where the dynamic linker would find them, and what they name.
 *
 * Promises: reads only; allocates nothing; where it cannot tell it says "not found" or "no".
 */
#ifndef DRIVER_SEARCH_H
#define DRIVER_SEARCH_H

#include <limits.h>
#include <stdbool.h>

struct library;

/* The path of `file` (no slash in it) as found by the run paths and LD_LIBRARY_PATH of the
 * object that holds the address `caller`. False: there it is not; the linker's cache and
 * default folders come next. */
bool search_caller(const void *caller, const char *file, char path[PATH_MAX]);

/* What the file at `path` says it is: the library it is a copy of, NULL: neither. */
struct library *search_is_driver(const char *path);

/* The libraries that the file at `path` needs directly, one bit each, and in `found` where its own
 * run path leads: "" for a library that is left to the usual search. */
unsigned search_needs_driver(const char *path, char found[][PATH_MAX]);

/* Can the file `file`, opened by the object that holds `caller`, or anything that it needs, reach a
 * driver by name? By what it needs, or by a driver's file name anywhere in it. Reads whole files;
 * for RTLD_DEEPBIND only. */
bool search_reaches_driver(const void *caller, const char *file);

#endif
