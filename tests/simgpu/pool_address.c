/*
 * See pool_address.h.
 */
#include "pool_address.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { UNIT_SHIFT = 16,
       ROOM_MAX = 40 };

static struct pool_block *free_block[ROOM_MAX + 1];
static char *range, *range_next;
static size_t range_size = 1ULL << 43; /* less where the address space is smaller */
static struct pool_block **unit;       /* of 64 KiB: the block that it is of */

static bool map_range(void)
{
	while (!range) {
		range = mmap(NULL, range_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (range != MAP_FAILED)
			break;
		range = NULL;
		range_size /= 2;
		if (range_size < 1ULL << 30)
			return false;
	}
	madvise(range, range_size, MADV_DONTDUMP);
	madvise(range, range_size, MADV_DONTFORK);
	range_next = range;
	unit = mmap(NULL, (range_size >> UNIT_SHIFT) * sizeof(struct pool_block *),
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return unit != MAP_FAILED;
}

static struct pool_block *make_room(const uint32_t shift)
{
	struct pool_block *block;
	size_t i;

	if (!unit && !map_range())
		return NULL;
	if (range_size - (size_t)(range_next - range) < 1ULL << shift)
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->base = (CUdeviceptr)(uintptr_t)range_next;
	block->shift = shift;
	for (i = 0; i < 1ULL << (shift - UNIT_SHIFT); i++)
		unit[((size_t)(range_next - range) >> UNIT_SHIFT) + i] = block;
	range_next += 1ULL << shift;
	return block;
}

struct pool_block *address_take(const size_t bytes)
{
	uint32_t shift = UNIT_SHIFT;
	struct pool_block *block;

	while (bytes > 1ULL << shift)
		shift++;
	if (shift > ROOM_MAX)
		return NULL;
	block = free_block[shift];
	if (block)
		free_block[shift] = block->next_free;
	else
		block = make_room(shift);
	return block;
}

struct pool_block *address_find(const CUdeviceptr at)
{
	const uint64_t offset = at - (uint64_t)(uintptr_t)range;
	struct pool_block *block;

	if (!unit || offset >= range_size)
		return NULL;
	block = unit[offset >> UNIT_SHIFT];
	return block && at - block->base < block->bytes ? block : NULL;
}

void address_give(struct pool_block *block)
{
	block->bytes = 0;
	block->node = false;
	block->next_free = free_block[block->shift];
	free_block[block->shift] = block;
}
