/*
 * The table of live allocations. See block.h.
 */
#include "policy/block_table.h"
#include "policy/room.h"
#include "base/wiped.h"

#define FIRST_BITS 7 /* 128 entries, less than a page */
#define BATCH 64u

_Static_assert(sizeof(struct shard) == 64, "a line");

void *block_memory;
uint64_t block_epoch_word = 1; /* never wiped: a child's insertions do not meet its parent's */

int block_start(void)
{
	return wiped_once(&block_memory, SHARDS * sizeof(struct shard)) ? room_start() : -ENOMEM;
}

static struct shard *shard_at(uint32_t n)
{
	return (struct shard *)block_memory + n;
}

void block_epoch_raise(void)
{
	__atomic_add_fetch(&block_epoch_word, 1, __ATOMIC_SEQ_CST);
}

static void entries_free(struct entry *entries, uint32_t bits)
{
	room_give(entries, sizeof(struct entry) << bits);
}

/* Twice the room. Runs are read from the start of one, so that the entries of a key keep their order. */
static int shard_grow(struct shard *shard)
{
	const uint32_t bits = shard->entries ? shard->bits + 1 : FIRST_BITS;
	struct entry *const entries = room_take(sizeof(struct entry) << bits);
	const struct shard old = *shard;
	uint32_t start = 0;

	if (!entries)
		return -ENOMEM;
	shard->entries = entries;
	shard->bits = (uint8_t)bits;
	if (!old.entries)
		return 0;
	while (old.entries[start].key)
		start++;
	for (uint32_t n = 0; n < 1u << old.bits; n++) {
		const struct entry *entry = &old.entries[(start + n) & ((1u << old.bits) - 1)];

		if (entry->key)
			shard_put(shard, shard_hash(entry_pointer(entry)), *entry);
	}
	entries_free(old.entries, old.bits);
	return 0;
}

/* Without memory for more the last quarter is used; one place stays free, where searches end. */
int shard_make_room(struct shard *shard)
{
	const int rc = shard_grow(shard);

	return rc && shard->entries && shard->used < (1u << shard->bits) - 1 ? 0 : rc;
}

void shard_settle(struct shard *shard)
{
	for (uint32_t i = 0; i < shard->front_used; i++) {
		const struct entry *entry = &shard->front[i];

		shard_put(shard, shard_hash(entry_pointer(entry)), *entry);
	}
	shard->front_used = 0;
}

int block_add(const struct block *block, uint64_t epoch)
{
	return shard_add(block, epoch);
}

bool block_take(uint64_t pointer, struct block *taken)
{
	return shard_take(pointer, taken);
}

void shard_close(struct shard *shard, uint32_t hole)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	struct entry *const entries = shard->entries;

	for (uint32_t i = (hole + 1) & mask; entries[i].key; i = (i + 1) & mask) {
		const uint32_t from = shard_home(shard, shard_hash(entry_pointer(&entries[i])));

		/* It may move back unless its home lies behind the hole. */
		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		entries[hole] = entries[i];
		hole = i;
	}
	entries[hole].key = 0;
}

static bool shard_has(const struct shard *shard, uint32_t i)
{
	return shard->entries && i < 1u << shard->bits;
}

void block_drop_context(uint32_t context, void (*whole)(const struct block *block),
			void (*small)(const struct block *block))
{
	struct block batch[BATCH];
	uint32_t count;

	for (uint32_t s = 0; s < SHARDS; s++) {
		struct shard *const shard = shard_at(s);

		do {
			count = 0;
			lock_take(&shard->lock);
			shard_settle(shard);
			for (uint32_t i = 0; shard_has(shard, i) && count < BATCH;) {
				const struct block block = entry_block(&shard->entries[i]);

				if (!block.pointer || block.context != context) {
					i++;
					continue;
				}
				if (block.kind == BLOCK_WHOLE)
					whole(&block);
				else
					batch[count++] = block;
				shard_remove(shard, i); /* another may be here now: look at i again */
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
		struct shard *const shard = shard_at(s);
		uint32_t units = 0;

		lock_take(&shard->lock);
		shard_settle(shard);
		for (uint32_t i = 0; shard_has(shard, i); i++) {
			struct block block = entry_block(&shard->entries[i]);

			if (!block.pointer || block.device != device || block.seat == seat)
				continue;
			block.seat = seat;
			shard->entries[i] = entry_of(&block);
			units += block.units;
		}
		adopt(device, units);
		lock_give(&shard->lock);
	}
}

uint64_t block_count(void)
{
	uint64_t count = 0;

	for (uint32_t s = 0; block_memory && s < SHARDS; s++)
		count += __atomic_load_n(&shard_at(s)->used, __ATOMIC_RELAXED);
	return count;
}
