/*
 * Figures that programs ask for often, at a glance. Owns: what a tenant has charged, whether its
 * limit alone says what is free, and whether the dead are forgotten lately, each by as little as
 * will do. Promise: the same as account_use and
 * member_sweep_now would say. Writes nothing, never waits, makes no system call.
 */
#ifndef CUQUOTA_GLANCE_H
#define CUQUOTA_GLANCE_H

#include "ledger/member.h"

/* Units charged by the members of `tenant`. */
uint64_t glance_charged(const struct segment *segment, uint32_t tenant);
/* Does what others hold and are promised leave a tenant all of `limit` bytes for certain? Then its
 * limit alone says what is free. */
bool glance_beside(const struct member *member, uint64_t limit);
/* Certainly no sweep is due: the last one began less than 50 ms ago. */
bool glance_swept(const struct segment *segment);

#endif
