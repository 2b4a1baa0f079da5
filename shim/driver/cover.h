/*
 * The C library's own dlopen, dlmopen, dlsym and dlvsym, covered: in its symbol table in memory
 * they lead to the front ends.
 *
 * For those whom the search order does not lead to us: what is opened with RTLD_DEEPBIND, and who
 * looks into the C library himself. What was bound before stays as it is.
 */
#ifndef DRIVER_COVER_H
#define DRIVER_COVER_H

#include <stdbool.h>

/* Once for a namespace, the one that this copy of the library lies in. False: it cannot be done.
 * Keeps errno. */
bool cover_libc(void);

#endif
