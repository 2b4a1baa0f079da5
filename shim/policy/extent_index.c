/*
 * The index of extents. See extent_index.h.
 */
#include "policy/extent_index.h"
#include "policy/room.h"

#include <errno.h>
#include <string.h>

#define FIRST_ROOM 64u
#define SLAB 15u /* extents that are made at a time: 16 KiB */

void *extent_memory;

static int more_spares(struct extent_shard *shard)
{
	struct extent *const slab = room_take(SLAB * sizeof(*slab));

	if (!slab)
		return -ENOMEM;
	for (uint32_t i = 0; i < SLAB; i++) {
		slab[i].next = shard->spare;
		shard->spare = &slab[i];
	}
	return 0;
}

static int more_room(struct extent_shard *shard)
{
	const uint32_t room = shard->room ? shard->room * 2 : FIRST_ROOM;
	struct extent **const list = room_take(room * sizeof(struct extent *));

	if (!list)
		return -ENOMEM;
	if (shard->used)
		memcpy(list, shard->extent, shard->used * sizeof(struct extent *));
	room_give(shard->extent, shard->room * sizeof(struct extent *));
	shard->extent = list;
	shard->room = room;
	return 0;
}

int extent_prepare(struct extent_shard *shard, uint64_t base)
{
	if ((!shard->spare || !shard->spare->next) && more_spares(shard))
		return -ENOMEM;
	if (shard->used + 2 > shard->room && more_room(shard))
		return -ENOMEM;
	return map_make(&extent_index()->map, extent_number(base) >> MAP_WORDS) ? 0 : -ENOMEM;
}

/* An extent's memory is never anything else: whoever looks without the lock sees some extent. */
struct extent *extent_make(struct extent_shard *shard, uint64_t base,
			   const struct extent_paid *paid)
{
	struct extent *const extent = shard->spare;

	shard->spare = extent->next;
	extent->base = base;
	extent->paid = *paid;
	extent->live = 0;
	extent->step = extent_index()->coarse;
	extent->next = NULL;
	extent->at = shard->used;
	shard->extent[extent->at] = extent;
	__atomic_store_n(extent_word(base), (uintptr_t)extent, __ATOMIC_RELEASE);
	shard->used++;
	__atomic_add_fetch(&extent_index()->used, 1, __ATOMIC_SEQ_CST);
	return extent;
}

void extent_remove(struct extent_shard *shard, struct extent *extent)
{
	struct extent *const last = shard->extent[shard->used - 1];

	__atomic_store_n(extent_word(extent->base), 0, __ATOMIC_RELAXED);
	shard->extent[extent->at] = last;
	last->at = extent->at;
	shard->used--;
	__atomic_sub_fetch(&extent_index()->used, 1, __ATOMIC_SEQ_CST);
	extent_clear(extent);
	extent->next = shard->spare;
	shard->spare = extent;
}

static uint64_t steps_of(const struct extent *extent)
{
	return ((extent_index()->bytes - 1) >> extent->step) + 1;
}

void extent_clear(struct extent *extent)
{
	if (extent->bits)
		memset(extent->starts, 0, (steps_of(extent) + 63) / 64 * sizeof(uint64_t));
	extent->bits = 0;
}

/* From the last bit on: where one goes, none is any more that is still to go. */
void extent_refine(struct extent *extent)
{
	const uint8_t finer = extent->step - extent_index()->step;

	for (uint64_t bit = steps_of(extent); bit-- > 0;) {
		const uint64_t to = bit << finer;

		if (!(extent->starts[bit / 64] >> (bit % 64) & 1))
			continue;
		extent->starts[bit / 64] ^= 1ull << (bit % 64);
		extent->starts[to / 64] |= 1ull << (to % 64);
	}
	extent->step = extent_index()->step;
}

void extent_count_idle(struct extent_shard *shard, const struct extent *extent, int n)
{
	shard->idle += (uint32_t)n;
	__atomic_add_fetch(&extent_index()->idle[extent->paid.device], (uint32_t)n,
			   __ATOMIC_RELAXED);
}
