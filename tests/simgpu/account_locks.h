/*
 * Between account.c and life.c: the slow locks, and what a reaper does with a slot that it owns.
 */
#ifndef SIMGPU_ACCOUNT_LOCKS_H
#define SIMGPU_ACCOUNT_LOCKS_H

#include "account.h"

/* A kernel file lock, given back at death. Returns a descriptor or -errno. */
int account_lock(const struct account *account, const char *name);
void account_unlock(int lock);

/* Resolves the operation in flight of a dead slot and refunds what it holds. The caller owns the
 * slot's life byte. */
void account_settle(struct account_file *file, unsigned int slot);

#endif
