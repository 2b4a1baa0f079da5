/*
 * Copies of this library: the same or another file of it, in this namespace or in another one.
 *
 * Every build carries an ELF note that names it. In one namespace the copy that comes first in load
 * order does the work and the others stand aside. Each namespace has a copy of its own, which the
 * dlmopen front end puts there.
 */
#ifndef DRIVER_COPIES_H
#define DRIVER_COPIES_H

#include "driver/elf.h"

#include <stdbool.h>

/* Is this object a copy of this library, ourselves included? */
bool copy_is(const struct elf_image *image);

/* Another copy of our namespace comes before us. One load after the first call. */
bool copy_aside(void);

/* The copy in the namespace that holds this address, and its answer to a look-up of `name` in a
 * driver of that namespace at `header`; NULL: there is no copy, or it does not know that driver. */
void *copy_lookup(const void *address, const void *header, const char *name);

/* Has the copy of this library that `map` is cover its namespace's C library (cover.h). */
bool copy_cover(const struct link_map *map);

#endif
