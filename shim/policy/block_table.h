/*
 * The table of live allocations from inside: for block.c, and for claim.c, where entering and
 * taking are part of every call. Owns: the shape of a shard and of an entry, where an entry lies,
 * and what is done under a shard's lock.
 *
 * Among many blocks the place of an entry is a cold line, and a locked instruction waits for every
 * store before it. So while one thread alone uses the tables a new entry first stays in front, in
 * the shard's own line, and its place is asked for; it goes there when others come. What is freed
 * soon never goes. Others that come find the front emptied into the table before they look.
 */
#ifndef POLICY_BLOCK_TABLE_H
#define POLICY_BLOCK_TABLE_H

#include "policy/block.h"
#include "policy/lock.h"

#include <errno.h>
#include <stddef.h>

#define SHARDS 64u
#define SHARD_BITS 6
#define FRONT 2u

/* A block in a quarter of a line; `key` is 0 where there is none. From the lowest bit on: */
struct entry {
	uint64_t key;  /* pointer 57, context's upper 7 */
	uint64_t rest; /* units 28, device 6, seat 8, kind 2, family 3, context's lower 17 */
};
#define ENTRY_POINTER 57
#define ENTRY_CONTEXT 17
#define ENTRY_UNITS 28

/* Linear probing; deletion shifts back: no tombstones, and the run of a key keeps its order. */
struct shard {
	struct lock lock;
	uint32_t used; /* those in front included, which therefore have room in the table */
	uint8_t bits;  /* 1 << bits entries */
	uint8_t front_used;
	struct entry *entries;	   /* NULL: none yet */
	struct entry front[FRONT]; /* the oldest first */
} __attribute__((aligned(64)));

extern void *block_memory; /* SHARDS of them */

/* Room for one entry more. 0 or -ENOMEM. Under the lock. */
int shard_make_room(struct shard *shard);
/* Closes the gap at `hole`, whose entry is gone, where others follow. */
void shard_close(struct shard *shard, uint32_t hole);
/* Moves what is in front into the table. */
void shard_settle(struct shard *shard);

static inline bool entry_holds(const struct block *block)
{
	return !(block->pointer >> ENTRY_POINTER | block->units >> ENTRY_UNITS |
		 block->context >> (64 - ENTRY_POINTER + ENTRY_CONTEXT));
}

static inline struct entry entry_of(const struct block *block)
{
	return (struct entry){
		block->pointer |
			(uint64_t)(block->context >> ENTRY_CONTEXT) << ENTRY_POINTER,
		block->units | (uint64_t)block->device << 28 | (uint64_t)block->seat << 34 |
			(uint64_t)block->kind << 42 | (uint64_t)block->family << 44 |
			(uint64_t)block->context << (64 - ENTRY_CONTEXT)};
}

static inline uint64_t entry_pointer(const struct entry *entry)
{
	return entry->key & ((1ull << ENTRY_POINTER) - 1);
}

static inline struct block entry_block(const struct entry *entry)
{
	const uint64_t rest = entry->rest;

	return (struct block){.pointer = entry_pointer(entry),
			      .units = rest & ((1u << ENTRY_UNITS) - 1),
			      .context = (uint32_t)(entry->key >> ENTRY_POINTER << ENTRY_CONTEXT |
						    rest >> (64 - ENTRY_CONTEXT)),
			      .device = rest >> 28 & 63,
			      .family = rest >> 44 & 7,
			      .seat = rest >> 34 & 255,
			      .kind = rest >> 42 & 3};
}

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
	const struct entry *const entries =
		__atomic_load_n(&shard->entries, __ATOMIC_RELAXED);
	const uint8_t bits = __atomic_load_n(&shard->bits, __ATOMIC_RELAXED);
	const uint64_t home = ((hash << SHARD_BITS) >> 32) >> (32 - bits);

	/* In integers: before the first block there are no entries to reckon a pointer from. */
	__builtin_prefetch((const void *)((uintptr_t)entries + home * sizeof(*entries)), 1);
}

static inline __attribute__((always_inline)) void
shard_put(struct shard *shard, uint64_t hash, struct entry entry)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	uint32_t i = shard_home(shard, hash);

	while (shard->entries[i].key)
		i = (i + 1) & mask;
	shard->entries[i] = entry;
}

static inline __attribute__((always_inline)) void shard_remove(struct shard *shard, uint32_t i)
{
	const uint32_t mask = (1u << shard->bits) - 1;

	shard->entries[i].key = 0;
	shard->used--;
	if (__builtin_expect(shard->entries[(i + 1) & mask].key != 0, 0))
		shard_close(shard, i);
}

/* Others may look for it from now on: they find the oldest of its address first. */
static inline void shard_take_lock(struct shard *shard, bool *alone)
{
	*alone = lock_take(&shard->lock);
	if (__builtin_expect(!*alone && shard->front_used, 0))
		shard_settle(shard);
}

static inline __attribute__((always_inline)) void
shard_put_front(struct shard *shard, uint64_t hash, struct entry entry)
{
	if (__builtin_expect(shard->front_used == FRONT, 1)) {
		const struct entry oldest = shard->front[0];

		shard_put(shard, shard_hash(entry_pointer(&oldest)), oldest);
		shard->front[0] = shard->front[1];
		shard->front_used--;
	}
	shard->front[shard->front_used++] = entry;
	__builtin_prefetch(&shard->entries[shard_home(shard, hash)], 1);
}

static inline __attribute__((always_inline)) bool
shard_take_front(struct shard *shard, uint64_t pointer, struct block *taken)
{
	for (uint32_t i = 0; i < shard->front_used; i++) {
		if (entry_pointer(&shard->front[i]) != pointer)
			continue;
		*taken = entry_block(&shard->front[i]);
		if (!i)
			shard->front[0] = shard->front[1];
		shard->front_used--;
		shard->used--;
		return true;
	}
	return false;
}

static inline __attribute__((always_inline)) int
shard_add(const struct block *block, uint64_t epoch)
{
	const uint64_t hash = shard_hash(block->pointer);
	struct shard *const shard = shard_of(hash);
	bool alone;
	int rc = 0;

	if (__builtin_expect(!entry_holds(block), 0))
		return -ENOMEM;
	shard_take_lock(shard, &alone);
	if (block_epoch() != epoch)
		rc = -EAGAIN;
	else if (!shard->entries || shard->used >= (3u << shard->bits) / 8)
		rc = shard_make_room(shard);
	if (__builtin_expect(!rc, 1)) {
		shard->used++;
		if (__builtin_expect(alone, 1))
			shard_put_front(shard, hash, entry_of(block));
		else
			shard_put(shard, hash, entry_of(block));
	}
	lock_give(&shard->lock);
	return rc;
}

static inline __attribute__((always_inline)) bool shard_take(uint64_t pointer, struct block *taken)
{
	const uint64_t hash = shard_hash(pointer);
	struct shard *const shard = shard_of(hash);
	bool found = false, alone;

	shard_take_lock(shard, &alone);
	if (__builtin_expect(shard->entries && pointer, 1)) {
		const uint32_t mask = (1u << shard->bits) - 1;
		uint32_t i = shard_home(shard, hash);

		found = shard_take_front(shard, pointer, taken);
		while (!found && shard->entries[i].key) {
			found = entry_pointer(&shard->entries[i]) == pointer;
			if (found) {
				*taken = entry_block(&shard->entries[i]);
				shard_remove(shard, i);
			}
			i = (i + 1) & mask;
		}
	}
	lock_give(&shard->lock);
	return found;
}

#endif
