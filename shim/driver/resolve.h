/*
 * What is known about allocators that have no row.
 */
#ifndef DRIVER_RESOLVE_H
#define DRIVER_RESOLVE_H

#include <stdbool.h>

/* Named like a function that takes device memory:
 * cu(Mem|Array|Mipmapped|Graph|Multicast)...(Alloc|Create)..., or like one that makes a context. */
bool resolve_is_allocator(const char *name);

/* Of a hooked name: does a version of it that we do not know take memory? A
 * context is memory too. */
bool resolve_takes_memory(const char *name);

#endif
