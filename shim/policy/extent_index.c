/*
 * The index of extents. See extent_index.h.
 */
#include "policy/extent_index.h"
#include "policy/room.h"

#include <errno.h>
#include <string.h>

#define FIRST_BITS 6
#define SLAB 15u /* extents that are made at a time: 16 KiB */

void *extent_memory;

int extent_prepare_more(struct extent_shard *shard)
{
	if (!shard->spare || !shard->spare->next) {
		struct extent *const slab = room_take(SLAB * sizeof(*slab));

		if (!slab)
			return -ENOMEM;
		for (uint32_t i = 0; i < SLAB; i++) {
			slab[i].next = shard->spare;
			shard->spare = &slab[i];
		}
	}
	if (!shard->extent || shard->used >= (3u << shard->bits) / 4) {
		const struct extent_shard old = *shard;
		const uint32_t bits = old.extent ? old.bits + 1 : FIRST_BITS;
		struct extent **const index = room_take(sizeof(*index) << bits);

		if (!index)
			return -ENOMEM;
		shard->extent = index;
		shard->bits = bits;
		for (uint32_t i = 0; old.extent && i < 1u << old.bits; i++)
			if (old.extent[i])
				*extent_slot(shard, old.extent[i]->base) = old.extent[i];
		if (old.extent)
			room_give(old.extent, sizeof(*index) << old.bits);
	}
	return 0;
}

struct extent *extent_make(struct extent_shard *shard, uint64_t base,
			   const struct extent_paid *paid)
{
	struct extent *const extent = shard->spare;

	shard->spare = extent->next;
	extent->base = base;
	extent->paid = *paid;
	extent->live = 0;
	extent->next = NULL;
	*extent_slot(shard, base) = extent;
	__atomic_store_n(&shard->used, shard->used + 1, __ATOMIC_RELAXED);
	return extent;
}

void extent_remove(struct extent_shard *shard, struct extent *extent)
{
	const uint32_t mask = (1u << shard->bits) - 1;
	uint32_t hole = (uint32_t)(extent_slot(shard, extent->base) - shard->extent);

	for (uint32_t i = (hole + 1) & mask; shard->extent[i]; i = (i + 1) & mask) {
		const uint32_t from = extent_home(shard, shard->extent[i]->base);

		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		shard->extent[hole] = shard->extent[i];
		hole = i;
	}
	shard->extent[hole] = NULL;
	__atomic_store_n(&shard->used, shard->used - 1, __ATOMIC_RELAXED);
	if (extent->bits)
		memset(extent->starts, 0, sizeof(extent->starts));
	extent->bits = 0;
	extent->next = shard->spare;
	shard->spare = extent;
}

void extent_count_idle(struct extent_shard *shard, const struct extent *extent, int n)
{
	shard->idle += (uint32_t)n;
	__atomic_add_fetch(&extent_index()->idle[extent->paid.device], (uint32_t)n,
			   __ATOMIC_RELAXED);
}
