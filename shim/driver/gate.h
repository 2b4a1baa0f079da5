/*
 * Gates before allocators that this release does not know.
 *
 * A program looks functions up before cuInit, when nobody can say yet whether a limit holds. So
 * what it gets for an unknown allocator is a gate, which decides at each call: under a limit it
 * returns CUDA_ERROR_NOT_SUPPORTED and says so once, else it jumps to the driver's function with
 * all arguments as they are.
 */
#ifndef DRIVER_GATE_H
#define DRIVER_GATE_H

#include <stdbool.h>

/* The gate before this function of the driver. There are 64; when they are used up, a function that
 * always refuses. */
void *gate_before(void *function, const char *name);

/* Is it one of the gates, or that function? */
bool gate_is(const void *address);

/* Says that `name` is refused, once for each name (nearly: names that hash alike share a line). */
void gate_refused(const char *name);

#endif
