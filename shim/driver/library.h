/*
 * The two real libraries as the doors see them: rows of names, and the object in memory that is the process's own.
 */
#ifndef DRIVER_LIBRARY_H
#define DRIVER_LIBRARY_H

#include "driver/elf.h"

#include <stdbool.h>
#include <stddef.h>

struct row {
	const char *name;
	void *hook;    /* our wrapper; NULL: not interposed */
	unsigned slot; /* where the table holds the real one */
};
#define ROW_NO_SLOT (~0u)

struct library {
	const char *stem; /* its SONAME up to the version */
	const char *file; /* what programs open */
	const struct row *rows;
	size_t count;
	void **table;
	void *lacking; /* stands in for what the library does not have */
	void *absent;  /* stands in for everything where there is no library */
	bool *ready;
};

enum { LIBRARY_CUDA, LIBRARY_NVML, LIBRARIES };
extern struct library libraries[LIBRARIES];

/* NULL: a name that the library's .def file does not have. */
const struct row *library_row(const struct library *library, const char *name);

#endif
