/*
 * What a forked child inherits of a hold. Owns: the list of this process's holds, in memory that
 * fork copies, and the one handler of fork. Promise: a hold ends only after every process that
 * shares the driver's files has let go of them.
 *
 * A descriptor that parent and child share is let go by whichever closes it last, and that one may
 * be done while the other is still giving back what the driver's files hold: then the charge would
 * be gone before the memory. So the handler gives child and parent each a lock of its own on the
 * same byte, under the same number; for reading, which any number may have. At its end each process
 * then lets go of its own lock after the driver's files, which have higher numbers. A child that
 * was made without fork (a bare clone) shares its parent's. A fork is held up by little, whatever
 * its thread was in the midst of, and changes no number that is not a hold's.
 */
#ifndef CUQUOTA_HEIR_H
#define CUQUOTA_HEIR_H

#include "ledger/life.h"

#include <sys/types.h>

/* From now on children inherit the lock on `byte` of "<path>.life.<group>". */
void heir_leave(const struct segment *segment, const struct life_lock *lock, uint32_t group,
		off_t byte);
/* The descriptor is about to be closed: nothing is inherited of it any more. */
void heir_forget(int hold);

#endif
