/*
 * Where the extents are found: 64 shards by the address of the grain. Owns: their memory and the
 * count of those that are empty. Only extent.c uses it, but for what has to do with an address
 * alone; all else wants the shard's lock held.
 */
#ifndef POLICY_EXTENT_INDEX_H
#define POLICY_EXTENT_INDEX_H

#include "policy/extent.h"
#include "policy/lock.h"
#include "policy/map.h"
#include "base/wiped.h"

#define EXTENT_SHARDS 64u
#define EXTENT_STARTS 8192u /* bits of an extent */
#define EXTENT_STEP 8	    /* blocks lie at least 256 bytes apart, as the driver promises */
#define EXTENT_COARSE 12    /* and mostly begin where a page does: two lines for 512 of them */
#define EXTENT_DEVICES 256

struct extent {
	uint64_t base;		 /* address of the grain */
	struct extent_paid paid; /* by whom; its context is the one whose blocks are bits */
	uint32_t live;		 /* blocks that lie in it, entries of the block table too */
	uint32_t bits;		 /* of those, the ones that are a bit */
	uint32_t at;		 /* in the list of its shard */
	uint8_t step;		 /* bytes for each bit are 1 << step */
	struct extent *next;	 /* while free */

	/* where blocks begin, in steps; none while free */
	uint64_t starts[EXTENT_STARTS / 64];
} __attribute__((aligned(64))); /* all but the bits in one line */

struct extent_shard {
	struct lock lock;
	uint32_t room, used;
	uint32_t idle;		/* of its extents, those with no block */
	uint32_t lone;		/* and those with one */
	struct extent **extent; /* the `used` ones; there is room for so many pointers */
	struct extent *spare;	/* free extents */
} __attribute__((aligned(64)));

struct extent_index {
	size_t bytes;	/* of a grain */
	uint8_t step;	/* the finest of an extent */
	uint8_t coarse; /* the one that it begins with */
	uint32_t shift; /* of bytes, where it is a power of two, else 0 */
	uint32_t used;	/* extents of all shards */
	uint32_t idle[EXTENT_DEVICES];
	struct extent_shard shard[EXTENT_SHARDS];
	struct map_node map; /* by number of the grain, the root; words are struct extent * */
};

extern void *extent_memory; /* a struct extent_index */

static inline struct extent_index *extent_index(void)
{
	return extent_memory;
}

/* Of the grain that an address lies in. */
static inline uint64_t extent_number(uint64_t pointer)
{
	const struct extent_index *const index = extent_index();

	return index->shift ? pointer >> index->shift : pointer / index->bytes;
}

static inline uint64_t extent_base(uint64_t pointer)
{
	const struct extent_index *const index = extent_index();

	return index->shift ? pointer >> index->shift << index->shift
			    : pointer - pointer % index->bytes;
}

static inline uint64_t extent_mix(uint64_t base)
{
	return (base >> 12) * 0x9e3779b97f4a7c15ull;
}

static inline struct extent_shard *extent_shard(uint64_t base)
{
	return &extent_index()->shard[extent_mix(base) >> 58];
}

/* The word of a grain; NULL: there never was a block in it. */
static inline uint64_t *extent_word(uint64_t base)
{
	const uint64_t number = extent_number(base);
	struct map_node *const leaf = map_find(&extent_index()->map, number >> MAP_WORDS);

	return leaf ? &leaf->word[map_word_at(number)] : NULL;
}

/* A freed block; false: no small block starts there, look in the block table. `base`: of its grain.
 */
bool extent_leave_grain(struct extent_shard *shard, uint64_t base, uint64_t pointer);
/* `certain`: look also where the first block of all may just be entered. */
static inline bool extent_leave(uint64_t pointer, bool certain)
{
	uint64_t base;

	if (!certain && !__atomic_load_n(&extent_index()->used, __ATOMIC_RELAXED))
		return false;
	base = extent_base(pointer);
	return extent_leave_grain(extent_shard(base), base, pointer);
}

/* How many emptied grains of a device are paid for. */
static inline uint32_t extent_idle(uint8_t device)
{
	return __atomic_load_n(&extent_index()->idle[device], __ATOMIC_RELAXED);
}

/* May it be the last block of its grain? False is certain but for what others do meanwhile. */
static inline bool extent_may_be_last(uint64_t pointer)
{
	return __atomic_load_n(&extent_shard(extent_base(pointer))->lone, __ATOMIC_RELAXED);
}

static inline void extent_set_live(struct extent_shard *shard, struct extent *extent, uint32_t live)
{
	const uint32_t lone = shard->lone + (live == 1) - (extent->live == 1);

	__atomic_store_n(&shard->lone, lone, __ATOMIC_RELAXED);
	extent->live = live;
}

static inline struct extent *extent_find(uint64_t base)
{
	uint64_t *const word = extent_word(base);

	return word ? (struct extent *)(uintptr_t)__atomic_load_n(word, __ATOMIC_RELAXED) : NULL;
}

/* Asks for what a free of that address will need, without the lock, so that it comes while the
 * driver is at work. */
static inline void extent_expect(uint64_t pointer)
{
	const struct extent *extent;

	if (!__atomic_load_n(&extent_index()->used, __ATOMIC_RELAXED))
		return;
	extent = extent_find(extent_base(pointer));
	if (!extent)
		return;
	__builtin_prefetch(extent, 1);
	__builtin_prefetch((const char *)extent + 64, 1);
}

/* Room for two more extents in the shard, and for that grain's, so that extent_make cannot fail. 0
 * or -ENOMEM. */
int extent_prepare(struct extent_shard *shard, uint64_t base);
struct extent *extent_make(struct extent_shard *shard, uint64_t base,
			   const struct extent_paid *paid);
void extent_remove(struct extent_shard *shard, struct extent *extent);
/* No block begins in it any more. */
void extent_clear(struct extent *extent);
/* From now on a bit for each of the finest steps. */
void extent_refine(struct extent *extent);
/* One more (1) or fewer (-1) that is empty. */
void extent_count_idle(struct extent_shard *shard, const struct extent *extent, int n);

#endif
