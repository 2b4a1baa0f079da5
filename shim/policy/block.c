/*
 * The table of live allocations. See block.h.
 */
#include "policy/block.h"
#include "policy/lock.h"
#include "policy/wiped.h"

#include <errno.h>
#include <stddef.h>

#define SHARDS 64u
#define SHARD_BITS 6
#define FIRST_BITS 7 /* 128 entries, less than a page */
#define LINE 64
#define BATCH 64u

_Static_assert(sizeof(struct block) == 24, "block");

/* Linear probing; deletion shifts back, so there are no tombstones and the run of a key keeps its order. */
struct shard {
	struct lock lock;
	uint32_t bits; /* 1 << bits entries */
	uint32_t used;
	struct block *entries; /* NULL: none yet */
} __attribute__((aligned(LINE)));

struct table {
	struct shard shard[SHARDS];
};

static void *memory;
uint64_t block_epoch_word = 1; /* never wiped: a child's insertions do not meet its parent's */

int block_start(void)
{
	return wiped_once(&memory, sizeof(struct table)) ? 0 : -ENOMEM;
}

void block_epoch_raise(void)
{
	__atomic_add_fetch(&block_epoch_word, 1, __ATOMIC_SEQ_CST);
}

static inline uint64_t mix(uint64_t pointer)
{
	return (pointer >> 8) * 0x9e3779b97f4a7c15ull;
}

static inline struct shard *shard_of(uint64_t hash)
{
	return &((struct table *)memory)->shard[hash >> (64 - SHARD_BITS)];
}

static inline uint32_t home(const struct shard *shard, uint64_t hash)
{
	return (uint32_t)((hash << SHARD_BITS) >> (64 - shard->bits));
}

static void place(struct shard *shard, const struct block *block)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	uint32_t i = home(shard, mix(block->pointer));

	while (shard->entries[i].pointer)
		i = (i + 1) & mask;
	shard->entries[i] = *block;
	shard->used++;
}

static void entries_free(struct block *entries, uint32_t bits)
{
	wiped_unmap(entries, sizeof(struct block) << bits);
}

/* Twice the room. Runs are read from the start of one, so that the entries of a key keep their order. */
static int shard_grow(struct shard *shard)
{
	const uint32_t bits = shard->entries ? shard->bits + 1 : FIRST_BITS;
	struct block *const entries = wiped_map(sizeof(struct block) << bits);
	const struct shard old = *shard;
	uint32_t start = 0;

	if (!entries)
		return -ENOMEM;
	shard->entries = entries;
	shard->bits = bits;
	shard->used = 0;
	if (!old.entries)
		return 0;
	while (old.entries[start].pointer)
		start++;
	for (uint32_t n = 0; n < 1u << old.bits; n++) {
		const struct block *block = &old.entries[(start + n) & ((1u << old.bits) - 1)];

		if (block->pointer)
			place(shard, block);
	}
	entries_free(old.entries, old.bits);
	return 0;
}

int block_add(const struct block *block, uint64_t epoch)
{
	struct shard *const shard = shard_of(mix(block->pointer));
	int rc = 0;

	lock_take(&shard->lock);
	if (block_epoch() != epoch)
		rc = -EAGAIN;
	else if (!shard->entries || shard->used >= (3u << shard->bits) / 4)
		rc = shard_grow(shard);
	/* Without memory for more the last quarter is used; one place stays free, where searches end. */
	if (rc == -ENOMEM && shard->entries && shard->used < (1u << shard->bits) - 1)
		rc = 0;
	if (!rc)
		place(shard, block);
	lock_give(&shard->lock);
	return rc;
}

static void remove_at(struct shard *shard, uint32_t hole)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	struct block *const entries = shard->entries;

	for (uint32_t i = (hole + 1) & mask; entries[i].pointer; i = (i + 1) & mask) {
		const uint32_t from = home(shard, mix(entries[i].pointer));

		/* It may move back unless its home lies behind the hole. */
		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		entries[hole] = entries[i];
		hole = i;
	}
	entries[hole].pointer = 0;
	shard->used--;
}

bool block_take(uint64_t pointer, struct block *taken)
{
	const uint64_t hash = mix(pointer);
	struct shard *const shard = shard_of(hash);
	bool found = false;

	lock_take(&shard->lock);
	if (shard->entries && pointer) {
		const uint32_t mask = (1u << shard->bits) - 1;
		uint32_t i = home(shard, hash);

		while (shard->entries[i].pointer && shard->entries[i].pointer != pointer)
			i = (i + 1) & mask;
		found = shard->entries[i].pointer == pointer;
		if (found) {
			*taken = shard->entries[i];
			remove_at(shard, i);
		}
	}
	lock_give(&shard->lock);
	return found;
}

void block_drop_context(uint32_t context, void (*whole)(const struct block *block),
			void (*small)(const struct block *block))
{
	struct block batch[BATCH];
	uint32_t count;

	for (uint32_t s = 0; s < SHARDS; s++) {
		struct shard *const shard = &((struct table *)memory)->shard[s];

		do {
			count = 0;
			lock_take(&shard->lock);
			for (uint32_t i = 0; shard->entries && i < 1u << shard->bits && count < BATCH;) {
				const struct block *const block = &shard->entries[i];

				if (!block->pointer || block->context != context) {
					i++;
					continue;
				}
				if (block->kind == BLOCK_WHOLE)
					whole(block);
				else
					batch[count++] = *block;
				remove_at(shard, i); /* another may be here now: look at i again */
			}
			lock_give(&shard->lock);
			for (uint32_t i = 0; i < count; i++)
				small(&batch[i]);
		} while (count == BATCH);
	}
}

void block_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	for (uint32_t s = 0; s < SHARDS; s++) {
		struct shard *const shard = &((struct table *)memory)->shard[s];
		uint32_t units = 0;

		lock_take(&shard->lock);
		for (uint32_t i = 0; shard->entries && i < 1u << shard->bits; i++) {
			struct block *const block = &shard->entries[i];

			if (!block->pointer || block->device != device || block->seat == seat)
				continue;
			block->seat = seat;
			units += block->units;
		}
		adopt(device, units);
		lock_give(&shard->lock);
	}
}

uint64_t block_count(void)
{
	uint64_t count = 0;

	for (uint32_t s = 0; memory && s < SHARDS; s++)
		count += __atomic_load_n(&((struct table *)memory)->shard[s].used, __ATOMIC_RELAXED);
	return count;
}
