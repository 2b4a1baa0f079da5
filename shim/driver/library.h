/*
 * The two real libraries as the doors see them: rows of names, and the object in memory
 * that is the process's own.
 *
 * The first copy of a library that a program reaches, which is the first in load order, becomes the
 * process's own: the real calls go to it, it is never unloaded, and in its symbol table in memory
 * the hooked names lead to our wrappers, so that whoever reads that table by himself finds them
 * too. In any other copy the hooked names are taken away.
 */
#ifndef DRIVER_LIBRARY_H
#define DRIVER_LIBRARY_H

#include "driver/elf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without pointers: each would be relocated, and its page copied, at the start of every program. */
struct row {
	uint32_t name; /* where in the library's names */
	uint16_t hook; /* which of the library's hooks is our wrapper, + 1; 0: not interposed */
	uint16_t slot; /* where the table holds the real one */
};
#define ROW_NO_SLOT UINT16_MAX

struct library {
	const char *stem;	/* its SONAME up to the version */
	const char *file;	/* what programs open */
	const struct row *rows; /* in the order of their names */
	size_t count;
	const char *names;
	void *const *hooks;
	void **table;
	void *lacking; /* stands in for what the library does not have */
	void *absent;  /* stands in for everything where there is no library */
	bool *ready;
	ElfW(Addr) base; /* of the process's own copy, 0: none yet; set once */
	size_t bytes;	 /* that it spans */
	bool said;	 /* that another copy was refused */
	bool patched;	 /* its symbol table leads to the hooks */
};

enum { LIBRARY_CUDA,
       LIBRARY_NVML,
       LIBRARIES };
extern struct library libraries[LIBRARIES];

static inline const char *row_name(const struct library *library, const struct row *row)
{
	return library->names + row->name;
}

/* Our wrapper; NULL: not interposed. */
static inline void *row_hook(const struct library *library, const struct row *row)
{
	return row->hook ? library->hooks[row->hook - 1] : NULL;
}

/* NULL: a name that the library's .def file does not have. */
const struct row *library_row(const struct library *library, const char *name);

/* The library that this object is a copy of, by its SONAME; NULL: neither. */
struct library *library_of(const struct elf_image *image);

/* By the name of a file or path; NULL: neither. */
struct library *library_named(const char *path);

/* The first copy in the load order of our namespace, the process's own. False: none is loaded. */
bool library_loaded(const struct library *library, struct elf_image *image);

/* To be told of each copy seen in our namespace. True: it is the process's own. Keeps errno. */
bool library_adopt(struct library *library, const struct elf_image *image);

/* The real one of a row that has a slot; NULL: the library lacks it. */
void *library_real(const struct library *library, const struct row *row);

/* The row whose real function lies at the address, NULL: none with a hook. */
const struct row *library_row_at(const struct library *library, const void *address);

/* Is the address in the process's own copy? Cheap. */
bool library_holds(const void *address);

#endif
