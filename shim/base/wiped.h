/*
 * Memory of this process that a forked child finds zeroed, and the small lock that lies in it.
 * Owns: the door to mmap of this floor. Promise: what lies here starts afresh in a child with one
 * load and no handler; a lock that another thread held at the fork is free there. Keeps errno.
 */
#ifndef BASE_WIPED_H
#define BASE_WIPED_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed; NULL without memory, or where the kernel cannot wipe (before 4.14). */
void *wiped_map(size_t bytes);
void wiped_unmap(void *memory, size_t bytes);

/* The same in whole large pages, where the kernel has them. */
#define WIPED_LARGE ((size_t)2 << 20)
void *wiped_map_large(size_t bytes);
void wiped_unmap_large(void *memory, size_t bytes);

/* Once for the life of a module: two threads that come together get the same memory. */
void *wiped_once(void **place, size_t bytes);

/* Sleeps; neither a cancellation point nor a change of errno. */
void nap_ns(uint64_t ns);

#endif
