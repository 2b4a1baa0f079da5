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

/*
 * A block in a quarter of a line; `key` is 0 where there is none. Linear probing; deletion shifts
 * back: no tombstones, and the run of a key keeps its order. From the lowest bit on:
 */
struct entry {
	uint64_t key;  /* pointer 57, context's upper 7 */
	uint64_t rest; /* units 28, device 6, seat 8, kind 2, family 3, context's lower 17 */
};
#define ENTRY_POINTER 57
#define ENTRY_CONTEXT 17
#define ENTRY_UNITS 28

static bool entry_holds(const struct block *block)
{
	return !(block->pointer >> ENTRY_POINTER | block->units >> ENTRY_UNITS |
		 block->context >> (64 - ENTRY_POINTER + ENTRY_CONTEXT));
}

static struct entry entry_of(const struct block *block)
{
	return (struct entry){
		block->pointer | (uint64_t)(block->context >> ENTRY_CONTEXT) << ENTRY_POINTER,
		block->units | (uint64_t)block->device << 28 | (uint64_t)block->seat << 34 |
			(uint64_t)block->kind << 42 | (uint64_t)block->family << 44 |
			(uint64_t)block->context << (64 - ENTRY_CONTEXT)};
}

static uint64_t entry_pointer(const struct entry *entry)
{
	return entry->key & ((1ull << ENTRY_POINTER) - 1);
}

static struct block entry_block(const struct entry *entry)
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

int block_start(void)
{
	int rc = wiped_once(&block_memory, sizeof(struct block_table)) ? 0 : -ENOMEM;

	if (!rc)
		rc = label_start();
	return rc ? rc : room_start();
}

void block_epoch_raise(void)
{
	__atomic_add_fetch(&block_epoch_word, 1, __ATOMIC_SEQ_CST);
}

static uint32_t shard_mask(const struct shard *shard)
{
	return (1u << shard->bits) - 1;
}

static uint32_t shard_home(const struct shard *shard, uint64_t pointer)
{
	return (uint32_t)((shard_hash(pointer) << SHARD_BITS) >> (64 - shard->bits));
}

/* The oldest entry of that address, or where one would go. There are entries. */
static uint32_t shard_find(const struct shard *shard, uint64_t pointer)
{
	uint32_t i = shard_home(shard, pointer);

	while (shard->entries[i].key && entry_pointer(&shard->entries[i]) != pointer)
		i = (i + 1) & shard_mask(shard);
	return i;
}

static void shard_put(struct shard *shard, struct entry entry)
{
	uint32_t i = shard_home(shard, entry_pointer(&entry));

	while (shard->entries[i].key)
		i = (i + 1) & shard_mask(shard);
	shard->entries[i] = entry;
}

/* Twice the room. Runs are read from the start of one, so that the entries of a key keep their
 * order. */
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
		const struct entry *entry = &old.entries[(start + n) & shard_mask(&old)];

		if (entry->key)
			shard_put(shard, *entry);
	}
	room_give(old.entries, sizeof(struct entry) << old.bits);
	return 0;
}

/*
 * Room for one entry more. 0 or -ENOMEM. A probe of unforeseeable length stops everything, so they
 * are few; without memory for more all are used but one, where searches end.
 */
static int shard_make_room(struct shard *shard)
{
	int rc;

	if (shard->entries && shard->used < (3u << shard->bits) / 8)
		return 0;
	rc = shard_grow(shard);
	return rc && shard->entries && shard->used < shard_mask(shard) ? 0 : rc;
}

static void shard_remove(struct shard *shard, uint32_t hole)
{
	const uint32_t mask = shard_mask(shard);
	struct entry *const entries = shard->entries;

	for (uint32_t i = (hole + 1) & mask; entries[i].key; i = (i + 1) & mask) {
		const uint32_t from = shard_home(shard, entry_pointer(&entries[i]));

		/* It may move back unless its home lies behind the hole. */
		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		entries[hole] = entries[i];
		hole = i;
	}
	entries[hole].key = 0;
	shard->used--;
}

int shard_add_entry(struct shard *shard, const struct block *block, uint16_t *at, uint16_t label)
{
	int rc;

	if (at && !*at &&
	    (!shard->used || !shard->entries[shard_find(shard, block->pointer)].key)) {
		__atomic_store_n(at, label, __ATOMIC_RELAXED);
		return 0;
	}
	if (!entry_holds(block))
		return -ENOMEM;
	rc = shard_make_room(shard);
	if (rc)
		return rc;
	shard_put(shard, entry_of(block));
	shard->used++;
	return 0;
}

bool shard_take_entry(struct shard *shard, uint64_t pointer, struct block *taken)
{
	const uint32_t i = shard_find(shard, pointer);

	if (!pointer || !shard->entries[i].key)
		return false;
	*taken = entry_block(&shard->entries[i]);
	shard_remove(shard, i);
	return true;
}

int block_add(const struct block *block, uint64_t epoch)
{
	return shard_add(block, epoch);
}

bool block_take(uint64_t pointer, struct block *taken)
{
	return shard_take(pointer, label_find(pointer), taken);
}

/* Each label in the map, by the place of its block. */
struct each {
	void (*visit)(uint64_t pointer, uint16_t *at, void *argument);
	void *argument;
};

static void each_of_leaf(uint64_t number, struct map_node *leaf, void *argument)
{
	const struct each *const each = argument;

	for (uint32_t i = 0; i < 1u << MAP_LABELS; i++)
		if (__atomic_load_n(&leaf->label[i], __ATOMIC_RELAXED))
			each->visit((number << MAP_LABELS | map_label_place(i)) << PLACE,
				    &leaf->label[i], each->argument);
}

static void each_label(void (*visit)(uint64_t pointer, uint16_t *at, void *argument),
		       void *argument)
{
	struct each each = {visit, argument};

	map_walk(&block_table()->map, each_of_leaf, &each);
}

/*
 * Whoever walks the labels has raised the epoch and taken each shard's lock since: no insertion
 * from before is still on its way, so what is seen without a lock is all there is.
 */
struct drop {
	uint32_t context;
	void (*whole)(const struct block *block);
};

static void drop_label(uint64_t pointer, uint16_t *at, void *argument)
{
	const struct drop *const drop = argument;
	struct shard *const shard = shard_of(pointer);
	struct block block;

	lock_take(&shard->lock);
	block = value_block(pointer, label_value(*at));
	if (*at && block.context == drop->context) {
		__atomic_store_n(at, 0, __ATOMIC_RELAXED);
		drop->whole(&block);
	}
	lock_give(&shard->lock);
}

static bool shard_has(const struct shard *shard, uint32_t i)
{
	return shard->entries && i <= shard_mask(shard);
}

/* Removes those of a context until `batch` is full of small ones; how many are in it. */
static uint32_t drop_entries(struct shard *shard, const struct drop *drop,
			     struct block batch[BATCH])
{
	uint32_t count = 0;

	for (uint32_t i = 0; shard_has(shard, i) && count < BATCH;) {
		const struct block block = entry_block(&shard->entries[i]);

		if (!block.pointer || block.context != drop->context) {
			i++;
			continue;
		}
		if (block.kind == BLOCK_WHOLE)
			drop->whole(&block);
		else
			batch[count++] = block;
		shard_remove(shard, i); /* another may be here now: look at i again */
	}
	return count;
}

void block_drop_context(uint32_t context, void (*whole)(const struct block *block),
			void (*small)(const struct block *block))
{
	struct drop drop = {context, whole};
	struct block batch[BATCH];
	uint32_t count;

	for (uint32_t s = 0; s < SHARDS; s++) {
		struct shard *const shard = &block_table()->shard[s];

		do {
			lock_take(&shard->lock);
			count = drop_entries(shard, &drop, batch);
			lock_give(&shard->lock);
			for (uint32_t i = 0; i < count; i++)
				small(&batch[i]);
		} while (count == BATCH);
	}
	each_label(drop_label, &drop);
}

struct move {
	uint8_t device, seat;
	uint32_t units;
};

static bool moves(const struct block *block, const struct move *move)
{
	return block->device == move->device && block->seat != move->seat;
}

static void move_entries(struct shard *shard, struct move *move)
{
	for (uint32_t i = 0; shard_has(shard, i); i++) {
		struct block block = entry_block(&shard->entries[i]);

		if (!block.pointer || !moves(&block, move))
			continue;
		block.seat = move->seat;
		shard->entries[i] = entry_of(&block);
		move->units += block.units;
	}
}

static void count_moved(uint64_t pointer, uint16_t *at, void *argument)
{
	struct move *const move = argument;
	const struct block block = value_block(pointer, label_value(*at));

	if (moves(&block, move))
		move->units += block.units;
}

static uint64_t moved_value(uint64_t value, const void *argument)
{
	struct block block = value_block(0, value);

	if (moves(&block, argument))
		block.seat = ((const struct move *)argument)->seat;
	return value_of(&block);
}

/* What a label says is true of many blocks: they move together, while none can come or go. */
void block_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	struct move move = {device, seat, 0};

	for (uint32_t s = 0; s < SHARDS; s++)
		lock_take(&block_table()->shard[s].lock);
	for (uint32_t s = 0; s < SHARDS; s++)
		move_entries(&block_table()->shard[s], &move);
	each_label(count_moved, &move);
	label_move(moved_value, &move);
	adopt(device, move.units);
	for (uint32_t s = 0; s < SHARDS; s++)
		lock_give(&block_table()->shard[s].lock);
}

static void count_label(uint64_t pointer, uint16_t *at, void *argument)
{
	(void)pointer;
	(void)at;
	++*(uint64_t *)argument;
}

uint64_t block_count(void)
{
	uint64_t count = 0;

	for (uint32_t s = 0; block_memory && s < SHARDS; s++)
		count += __atomic_load_n(&block_table()->shard[s].used, __ATOMIC_RELAXED);
	if (block_memory)
		each_label(count_label, &count);
	return count;
}
