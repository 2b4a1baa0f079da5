/*
 * The table of live allocations from inside: for block.c, and for claim.c, where entering and
 * taking are part of every call. Owns: the shape of a shard and of what a label says, and what is
 * done under a shard's lock.
 *
 * A block of whole grains that begins where a place of 2 MiB does, as most do, is a label in the
 * map; any other is an entry of its shard. It becomes a label only if no other has its address: so
 * of one address the label is the oldest.
 */
#ifndef POLICY_BLOCK_TABLE_H
#define POLICY_BLOCK_TABLE_H

#include "policy/block.h"
#include "policy/label.h"
#include "policy/lock.h"
#include "policy/map.h"

#include <errno.h>
#include <stddef.h>

#define SHARDS 64u
#define SHARD_BITS 6
#define PLACE 21	 /* a place has 1 << 21 bytes */
#define VALUE_CONTEXT 45 /* where it lies in what a label says */

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

/* Where the label of a block is noted. NULL: none was ever near, or the address is inside a place.
 */
static inline uint16_t *label_find(uint64_t pointer)
{
	const uint64_t place = pointer >> PLACE;
	struct map_node *leaf;

	if (pointer & ((1u << PLACE) - 1))
		return NULL;
	leaf = map_find(&block_table()->map, place >> MAP_LABELS);
	return leaf ? &leaf->label[map_label_at(place)] : NULL;
}

/* The same for a block that is to be entered. NULL without memory. */
static inline uint16_t *label_find_or_make(uint64_t pointer)
{
	const uint64_t place = pointer >> PLACE;
	uint16_t *const found = label_find(pointer);
	struct map_node *leaf;

	if (__builtin_expect(found != NULL, 1))
		return found;
	leaf = map_make(&block_table()->map, place >> MAP_LABELS);
	return leaf ? &leaf->label[map_label_at(place)] : NULL;
}

/* From the lowest bit on: units 28, device 6, seat 8, family 3, context 19. 0: it does not fit. */
static inline uint64_t value_of(const struct block *block)
{
	const uint64_t inside = (1u << PLACE) - 1, above = 1ull << 63;

	if (block->kind != BLOCK_WHOLE ||
	    ((block->units | (block->units - 1)) >> 28 | block->context >> (64 - VALUE_CONTEXT) |
	     (block->pointer & (inside | above))))
		return 0;
	return block->units | (uint64_t)block->device << 28 | (uint64_t)block->seat << 34 |
	       (uint64_t)block->family << 42 | (uint64_t)block->context << VALUE_CONTEXT;
}

static inline struct block value_block(uint64_t pointer, uint64_t value)
{
	return (struct block){.pointer = pointer,
			      .units = value & ((1u << 28) - 1),
			      .context = (uint32_t)(value >> VALUE_CONTEXT),
			      .device = value >> 28 & 63,
			      .family = value >> 42 & 7,
			      .seat = value >> 34 & 255,
			      .kind = BLOCK_WHOLE};
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
 * What the map does not hold, or others of its address that are entries come before. `at` and the
 * label that would be noted there: NULL and 0 if there is none. 0 or -ENOMEM. Under the lock.
 */
int shard_add_entry(struct shard *shard, const struct block *block, uint16_t *at, uint16_t label);
/* Removes the oldest entry of that address. Under the lock. */
bool shard_take_entry(struct shard *shard, uint64_t pointer, struct block *taken);

static inline __attribute__((always_inline)) int shard_add(const struct block *block,
							   uint64_t epoch)
{
	struct shard *const shard = shard_of(block->pointer);
	const uint64_t value = value_of(block);
	const uint16_t label = value ? label_of(value) : 0;
	uint16_t *const at = label ? label_find_or_make(block->pointer) : NULL;
	int rc = 0;

	lock_take(&shard->lock);
	if (__builtin_expect(block_epoch() != epoch, 0))
		rc = -EAGAIN;
	else if (__builtin_expect(at && !*at && !shard->used, 1))
		__atomic_store_n(at, label, __ATOMIC_RELAXED);
	else
		rc = shard_add_entry(shard, block, at, label);
	lock_give(&shard->lock);
	return rc;
}

/* `at`: what label_find says, or said when the block was there already. */
static inline __attribute__((always_inline)) bool shard_take(uint64_t pointer, uint16_t *at,
							     struct block *taken)
{
	struct shard *const shard = shard_of(pointer);
	bool found = true;

	lock_take(&shard->lock);
	if (__builtin_expect(at && *at, 1)) {
		*taken = value_block(pointer, label_value(*at));
		__atomic_store_n(at, 0, __ATOMIC_RELAXED);
	} else {
		found = shard->used && shard_take_entry(shard, pointer, taken);
	}
	lock_give(&shard->lock);
	return found;
}

#endif
