/*
 * Room for the tables of this floor, in large pages: a free at random meets a cold entry, and of
 * small pages there are too many for the processor to remember. Owns: pieces of 2 MiB that fork
 * wipes, and what was given back. Promise: what is taken is zero; a forked child starts afresh. May
 * be called under a table's lock, and takes only its own.
 */
#ifndef POLICY_ROOM_H
#define POLICY_ROOM_H

#include <stddef.h>

/* 0 or -ENOMEM. */
int room_start(void);
/* NULL without memory. */
void *room_take(size_t bytes);
void room_give(void *memory, size_t bytes);

#endif
