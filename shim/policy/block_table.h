/*
 * The table of live allocations from inside: for block.c, and for claim.c, where entering and
 * taking are part of every call. Owns: the shape of a shard, where an entry lies in it, and what
 * is done under its lock.
 */
#ifndef POLICY_BLOCK_TABLE_H
#define POLICY_BLOCK_TABLE_H

#include "policy/block.h"
#include "policy/lock.h"

#include <errno.h>
#include <stddef.h>

#define SHARDS 64u
#define SHARD_BITS 6

/* Linear probing; deletion shifts back: no tombstones, and the run of a key keeps its order. */
struct shard {
	struct lock lock;
	uint32_t bits; /* 1 << bits entries */
	uint32_t used;
	struct block *entries; /* NULL: none yet */
} __attribute__((aligned(64)));

extern void *block_memory; /* SHARDS of them */

/* Room for one entry more. 0 or -ENOMEM. Under the lock. */
int shard_make_room(struct shard *shard);
/* Closes the gap at `hole`, whose entry is gone, where others follow. */
void shard_close(struct shard *shard, uint32_t hole);

static inline uint64_t shard_hash(uint64_t pointer)
{
	return (pointer >> 8) * 0x9e3779b97f4a7c15ull;
}

static inline struct shard *shard_of(uint64_t hash)
{
	return (struct shard *)block_memory + (hash >> (64 - SHARD_BITS));
}

static inline uint32_t shard_home(const struct shard *shard, uint64_t hash)
{
	return (uint32_t)((hash << SHARD_BITS) >> (64 - shard->bits));
}

/* Asks for the line of that entry, without the lock: if it is the wrong one, no harm is done. */
static inline void shard_expect(uint64_t pointer)
{
	const uint64_t hash = shard_hash(pointer);
	const struct shard *const shard = shard_of(hash);
	const struct block *const entries =
		__atomic_load_n(&shard->entries, __ATOMIC_RELAXED);
	const uint64_t home = ((hash << SHARD_BITS) >> 32) >> (32 - shard->bits);

	/* In integers: before the first block there are no entries to reckon a pointer from. */
	__builtin_prefetch((const void *)((uintptr_t)entries + home * sizeof(*entries)), 1);
}

static inline __attribute__((always_inline)) void shard_put(struct shard *shard, uint64_t hash,
							    const struct block *block)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	uint32_t i = shard_home(shard, hash);

	while (shard->entries[i].pointer)
		i = (i + 1) & mask;
	shard->entries[i] = *block;
	shard->used++;
}

static inline __attribute__((always_inline)) void shard_remove(struct shard *shard, uint32_t i)
{
	const uint32_t mask = (1u << shard->bits) - 1;

	shard->entries[i].pointer = 0;
	shard->used--;
	if (__builtin_expect(shard->entries[(i + 1) & mask].pointer != 0, 0))
		shard_close(shard, i);
}

static inline __attribute__((always_inline)) int
shard_add(const struct block *block, uint64_t epoch)
{
	const uint64_t hash = shard_hash(block->pointer);
	struct shard *const shard = shard_of(hash);
	int rc = 0;

	lock_take(&shard->lock);
	if (block_epoch() != epoch)
		rc = -EAGAIN;
	else if (!shard->entries || shard->used >= (3u << shard->bits) / 4)
		rc = shard_make_room(shard);
	if (__builtin_expect(!rc, 1))
		shard_put(shard, hash, block);
	lock_give(&shard->lock);
	return rc;
}

static inline __attribute__((always_inline)) bool shard_take(uint64_t pointer, struct block *taken)
{
	const uint64_t hash = shard_hash(pointer);
	struct shard *const shard = shard_of(hash);
	bool found = false;

	lock_take(&shard->lock);
	if (__builtin_expect(shard->entries && pointer, 1)) {
		const uint32_t mask = (1u << shard->bits) - 1;
		uint32_t i = shard_home(shard, hash);

		while (shard->entries[i].pointer && shard->entries[i].pointer != pointer)
			i = (i + 1) & mask;
		found = shard->entries[i].pointer == pointer;
		if (__builtin_expect(found, 1)) {
			*taken = shard->entries[i];
			shard_remove(shard, i);
		}
	}
	lock_give(&shard->lock);
	return found;
}

#endif
