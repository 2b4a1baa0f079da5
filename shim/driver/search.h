/*
 * Files that are not loaded yet: where the dynamic linker would find them, and what they name.
 *
 * Promises: reads only; where it cannot tell it says "not found" or "perhaps". A caller's stack may
 * be as small as a thread can have, so paths lie in a room, which is mapped for the length of one
 * call of a door.
 */
#ifndef DRIVER_SEARCH_H
#define DRIVER_SEARCH_H

#include "driver/library.h"

#include <limits.h>
#include <stdbool.h>

struct search_room {
	char path[PATH_MAX];
	char needed[LIBRARIES][PATH_MAX];
	char own[PATH_MAX];
	char line[PATH_MAX + 128];
};

/* Room for what the object that holds the address `caller` opens. NULL: no memory. */
struct search_room *search_begin(const void *caller);
void search_end(struct search_room *room);

/* room->path becomes the path of `file` (no slash in it) as found by the run paths and
 * LD_LIBRARY_PATH of the caller. False: there it is not; the linker's cache and default folders
 * come next. */
bool search_caller(struct search_room *room, const char *file);

/* What the file at `path` says it is: the library it is a copy of, NULL: neither. */
struct library *search_is_driver(const char *path);

/* The libraries that the file at `path` needs directly, one bit each, and in room->needed where its
 * own run path leads: "" for a library that is left to the usual search. */
unsigned search_needs_driver(struct search_room *room, const char *path);

/* Can the file `file`, opened by the caller, or anything that it needs, reach a driver? */
enum reach {
	REACH_NOT,
	REACH_PERHAPS, /* it opens files whose names it does not hold, or cannot be read */
	REACH_NAMED,   /* a driver is needed, or a driver's file name is anywhere in it */
};

/* Reads whole files; for RTLD_DEEPBIND and new namespaces only. */
enum reach search_reach(struct search_room *room, const char *file);

#endif
