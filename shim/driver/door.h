/*
 * What the front ends (frontend_*.S) ask: look at one call of a dl function and
 * answer it or let it go on.
 *
 * Each function returns true: `result` is the answer; false: jump to `result`, the real function,
 * with `arg`, which may have been changed. They keep errno, and allocate nothing.
 */
#ifndef DRIVER_DOOR_H
#define DRIVER_DOOR_H

#include <stdbool.h>
#include <stddef.h>

struct door_call {
	void *arg[3];
	const void *caller; /* return address of the call */
	void *result;
};
_Static_assert(offsetof(struct door_call, caller) == 3 * sizeof(void *), "frontend_*.S");
_Static_assert(offsetof(struct door_call, result) == 4 * sizeof(void *), "frontend_*.S");

bool door_dlsym(struct door_call *call);
bool door_dlvsym(struct door_call *call);
bool door_dlopen(struct door_call *call);
bool door_dlmopen(struct door_call *call);

#endif
