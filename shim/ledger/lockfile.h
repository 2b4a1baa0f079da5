/*
 * The lock files beside a ledger. Owns: making them open to everybody, opening them, and locking
 * one byte; the door to file locks. Promise: a maker that is stopped or killed shuts nobody out; a
 * reader changes nothing; nothing waits.
 *
 * Open file description locks: they belong to the open file, not to the process, so a mapping alone
 * can carry one and a forked child shares one, and closing another descriptor of the same file does
 * not drop it.
 */
#ifndef CUQUOTA_LOCKFILE_H
#define CUQUOTA_LOCKFILE_H

#include "ledger/segment.h"

#include <fcntl.h>
#include <sys/types.h>

/* bytes of ".life.<k>" or ".settle" behind the segment's path, with the NUL */
#define LOCKFILE_SUFFIX 32

/* Open "<dir>/<UUID>.<suffix>"; a member makes it if need be. A descriptor, close-on-exec;
 * -errno. */
int lockfile_open(const struct segment *segment, const char *suffix);
/* Set the byte to F_WRLCK, F_RDLCK or F_UNLCK for this open file. 0; -EAGAIN when another has it;
 * -errno. */
int lockfile_lock(int file, off_t byte, short type);
/* 1 taken by another open file, in whatever mode, 0 free, -errno. */
int lockfile_is_locked(int file, off_t byte);
void lockfile_unlock_all(int file);

#endif
