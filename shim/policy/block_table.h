/*
 * The table of live allocations from inside: for block.c, and for claim.c, where entering and
 * taking are part of every call. Owns: the shape of a shard and of an entry, and what is done under
 * a shard's lock.
 *
 * A block is a word of the map where it can be (block_map.h), an entry of its shard where not. It
 * becomes a word only if no other has its address: so of one address the word is the oldest.
 */
#ifndef POLICY_BLOCK_TABLE_H
#define POLICY_BLOCK_TABLE_H

#include "policy/block_map.h"
#include "policy/lock.h"

#include <errno.h>
#include <stddef.h>

#define SHARDS 64u
#define SHARD_BITS 6

struct entry;

struct shard {
	struct lock lock;
	uint32_t used;	       /* of its entries */
	uint8_t bits;	       /* 1 << bits entries */
	struct entry *entries; /* NULL: none yet */
} __attribute__((aligned(64)));

struct block_table {
	struct shard shard[SHARDS];
	struct map_node map; /* its root */
};

extern void *block_memory; /* a struct block_table */

static inline struct block_table *block_table(void)
{
	return block_memory;
}

static inline uint64_t shard_hash(uint64_t pointer)
{
	return (pointer >> 8) * 0x9e3779b97f4a7c15ull;
}

static inline struct shard *shard_of(uint64_t pointer)
{
	return &block_table()->shard[shard_hash(pointer) >> (64 - SHARD_BITS)];
}

/*
 * What the map does not hold, or others of its address that are entries come before. `word` and
 * what it is to be: NULL and 0 if it cannot be one. 0 or -ENOMEM. Under the lock.
 */
int shard_add_entry(struct shard *shard, const struct block *block, uint64_t *word, uint64_t value);
/* Removes the oldest entry of that address. Under the lock. */
bool shard_take_entry(struct shard *shard, uint64_t pointer, struct block *taken);

/* Asks for the word of that address, without the lock. */
static inline void shard_expect(uint64_t pointer)
{
	__builtin_prefetch(map_find(&block_table()->map, pointer), 1);
}

static inline __attribute__((always_inline)) int shard_add(const struct block *block,
							   uint64_t epoch)
{
	struct shard *const shard = shard_of(block->pointer);
	const uint64_t value = map_word(block);
	uint64_t *word = value ? map_find(&block_table()->map, block->pointer) : NULL;
	int rc = 0;

	if (__builtin_expect(value && !word, 0))
		word = map_make(&block_table()->map, block->pointer);
	lock_take(&shard->lock);
	if (__builtin_expect(block_epoch() != epoch, 0))
		rc = -EAGAIN;
	else if (__builtin_expect(word && !*word && !shard->used, 1))
		__atomic_store_n(word, value, __ATOMIC_RELAXED);
	else
		rc = shard_add_entry(shard, block, word, value);
	lock_give(&shard->lock);
	return rc;
}

static inline __attribute__((always_inline)) bool shard_take(uint64_t pointer, struct block *taken)
{
	struct shard *const shard = shard_of(pointer);
	uint64_t *const word = map_find(&block_table()->map, pointer);
	bool found = true;

	lock_take(&shard->lock);
	if (__builtin_expect(word && *word, 1)) {
		*taken = map_block(pointer, *word);
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	} else {
		found = shard->used && shard_take_entry(shard, pointer, taken);
	}
	lock_give(&shard->lock);
	return found;
}

#endif
