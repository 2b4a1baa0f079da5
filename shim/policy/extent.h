/*
 * Small blocks, which share grains. Owns: one extent for each grain that small blocks lie in, with
 * a bitmap of where they start. Promise: an extent exists exactly as long as its grain is paid for;
 * which grain a block lies in is taken from its address after the driver gave it. Knows no driver
 * and no account.
 *
 * A block that lies in one grain of the context that first touched it is one bit. One that lies
 * across two grains, is of another context, or starts where a free is still in progress has an
 * entry in the block table instead, and is counted in each of its extents all the same.
 */
#ifndef POLICY_EXTENT_H
#define POLICY_EXTENT_H

#include "policy/block.h"

#include <stddef.h>

/* What the payment for a grain belongs to. */
struct extent_paid {
	uint8_t device;
	uint8_t seat;
	uint32_t context;
};

/*
 * The size of a grain for small blocks of every device: the largest of theirs. `give` is told of
 * each grain that is no longer paid for, `keeps` whether an emptied grain of a device stays paid
 * for; they are called under a lock and take none. Set once, at start. 0 or -ENOMEM.
 */
int extent_start(size_t grain_bytes, void (*give)(const struct extent_paid *paid),
		 bool (*keeps)(uint8_t device));
extern size_t extent_grain_bytes; /* ordinary memory: a forked child's grains are its parent's */
static inline size_t extent_bytes(void)
{
	return extent_grain_bytes;
}

/*
 * Enter a block. `tokens` are the grains that the caller has paid for; each grain that the block is
 * the first to touch takes one: the number of those left. -EDQUOT: it touches more new grains than
 * there are tokens; -EAGAIN: the epoch is no longer `epoch`; -ENOMEM. After an error nothing was
 * entered.
 */
int extent_enter(uint64_t pointer, size_t bytes, const struct extent_paid *paid, uint8_t family,
		 unsigned tokens, uint64_t epoch);

/* The same for an entry of the block table. `ended`: its context did, so that nothing is kept. */
void extent_leave_entry(const struct block *block, bool ended);

/* Is this the last block of its grain, as far as can be told without holding it? Then `paid` says
 * whose. */
bool extent_is_last(uint64_t pointer, struct extent_paid *paid);
/* Stop paying for an emptied grain of that device (and context, unless 0), if there is one. Its
 * payment is the caller's. */
bool extent_reclaim(uint8_t device, uint32_t context, struct extent_paid *paid);
/* As in block.h. */
void extent_drop_context(uint32_t context);
void extent_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units));

#endif
