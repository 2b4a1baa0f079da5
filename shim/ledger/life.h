/*
 * Who lives: kernel locks on bytes of the files <dir>/<UUID>.life.<k> (64 slots each) and
 * <UUID>.settle.
 * Owns: the two OFD write locks of a member and the settle byte; the door to file locks (and to
 * mmap, with segment.c).
 * Promise: death is known from the kernel alone, never from a PID, a time or a heartbeat; nothing
 * here waits but life_settle, which gives up after its limit.
 *
 *   life  locked through a mapping that fork does not copy: it lasts as long as the address space,
 *         survives closefrom, and ends with exec and any death.
 *   hold  locked through an open descriptor that fork does copy, as it copies the driver's own
 *         files: it ends when the last process that may still hold the memory has ended.
 */
#ifndef CUQUOTA_LIFE_H
#define CUQUOTA_LIFE_H

#include "ledger/segment.h"

enum life {
	LIFE_DEAD,  /* both free: the slot may be forgotten */
	LIFE_GHOST, /* life free, hold taken: a forked child keeps the memory */
	LIFE_ALIVE,
};

struct life_lock {
	void *page;		/* the mapping that carries life, NULL without */
	int hold;		/* the descriptor that carries hold, -1 without */
	uint64_t device, inode; /* of the file behind hold: an application may close the number and
				   reuse it */
};

/*
 * Take both bytes of `slot`, life first. 0; -EAGAIN when another has either; -errno. `reserved` is
 * an open descriptor whose number the hold takes over when all else is had, or -1 for the lowest
 * that is free. The number matters: at death the kernel puts files down from the lowest on and ends
 * them last in, first out, and the hold must end after the driver's files.
 */
int life_take(const struct segment *segment, uint32_t slot, int reserved, struct life_lock *lock);
/* Take a lost life byte of a slot whose hold is still ours anew. 0, -EAGAIN, -errno. */
int life_revive(const struct segment *segment, uint32_t slot, struct life_lock *lock);
/* Release both. The slot must have been given up before. */
void life_release(struct life_lock *lock);
/* In a forked child: close the inherited hold `descriptor`, if that number still is a life file of
 * this ledger. */
void life_disown(const struct segment *segment, int descriptor);

/* A life file opened anew, for tests and forgetting: own locks seen through it count as
 * another's. */
struct life_file {
	int descriptor; /* -1 while closed */
	uint32_t group; /* slot / 64 of the open file */
};
#define LIFE_FILE_CLOSED \
	{                \
		-1, 0    \
	}

/* What is known of `slot`. On an error LIFE_ALIVE: nobody is forgotten on a doubt. */
enum life life_test(const struct segment *segment, struct life_file *file, uint32_t slot);
/* Take both bytes of a dead slot in order to forget it. 0, -EAGAIN, -errno. */
int life_claim(const struct segment *segment, struct life_file *file, uint32_t slot);
void life_unclaim(struct life_file *file, uint32_t slot);
void life_close(struct life_file *file);

/*
 * The settle byte: makers and tighteners one at a time. A descriptor >= 0 for life_settled; -EBUSY
 * after `limit_ms`; -errno.
 */
int life_settle(const struct segment *segment, uint32_t limit_ms);
/* The learn byte, beside it: whose turn it is to learn what a context costs. A descriptor >= 0 for
 * life_settled; -EAGAIN when another has it; -errno. */
int life_learn(const struct segment *segment);
void life_settled(int descriptor);

#endif
