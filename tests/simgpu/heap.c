/*
 * See heap.h. Address ranges are carved once and belong to a size class for ever; there is far more
 * address space than memory. Pages are given back to the host only where something was copied to
 * them.
 */
#include "heap.h"
#include "small.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct arena arena[CARDS_MAX + 1]; /* the last one lies below 4 GiB */
static unsigned int stride_shift; /* of the part that each card has of `range` */
static uint64_t range_size;
static char *range;
static uint64_t next_block;

static unsigned int class_of(uint64_t *units)
{
	unsigned int shift;
	uint64_t step;

	if (*units <= 64)
		return (unsigned int)*units;
	shift = 63 - (unsigned int)__builtin_clzll(*units);
	step = 1ULL << (shift - 3);
	*units = (*units + step - 1) & ~(step - 1);
	shift = 63 - (unsigned int)__builtin_clzll(*units);
	return 64 + (shift - 6) * 8 + (unsigned int)((*units >> (shift - 3)) & 7);
}

static bool arena_map(struct arena *a, char *base, const uint64_t size, const uint64_t grain)
{
	const uint64_t entries = size / grain;
	void *const map = mmap(NULL, entries * sizeof(struct unit), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return false;
	a->unit = map;
	a->units = (uint32_t)entries;
	a->next = 1; /* 0 ends the lists */
	a->shift = (unsigned int)__builtin_ctzll(grain);
	a->base = base;
	return true;
}

static bool arenas_reserve(void)
{
	const struct config *const config = config_get();
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint64_t largest = 1ULL << 30, size;
	unsigned int i;
	char *base;

	for (i = 0; i < config->cards; i++)
		if (config->card[i].bytes > largest)
			largest = config->card[i].bytes;
	stride_shift = 64 - (unsigned int)__builtin_clzll(8 * largest - 1);
	size = (uint64_t)config->cards << stride_shift;
	base = mmap(NULL, size + (64U << 20), PROT_READ | PROT_WRITE, flags, -1, 0);
	if (base == MAP_FAILED)
		return false;
	base = (char *)(((uintptr_t)base + (64U << 20) - 1) & ~(uintptr_t)((64U << 20) - 1));
	madvise(base, size, MADV_DONTDUMP);
	madvise(base, size, MADV_DONTFORK);
	for (i = 0; i < config->cards; i++)
		if (!arena_map(&arena[i], base + ((uint64_t)i << stride_shift),
			       1ULL << stride_shift, config->grain))
			return false;
	range = base;
	range_size = size;
	return true;
}

static bool low_reserve(void)
{
	const uint64_t size = 1ULL << 30;
	uintptr_t at;

	for (at = 0x40000000; at + size <= 1ULL << 32; at += 0x10000000) {
		char *const base = mmap((void *)at, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
						MAP_FIXED_NOREPLACE,
					-1, 0);

		if (base == (char *)at)
			return arena_map(&arena[CARDS_MAX], base, size, config_get()->grain);
		if (base != MAP_FAILED)
			munmap(base, size);
	}
	return false;
}

static struct arena *arena_find(const CUdeviceptr at, uint32_t *index)
{
	const uint64_t offset = at - (uint64_t)(uintptr_t)range;
	struct arena *a;

	if (offset < range_size) {
		a = &arena[offset >> stride_shift];
	} else {
		a = &arena[CARDS_MAX];
		if (!a->base || at < (uintptr_t)a->base ||
		    at >= (uintptr_t)a->base + ((uint64_t)a->units << a->shift))
			return NULL;
	}
	*index = (uint32_t)((at - (uintptr_t)a->base) >> a->shift);
	return a;
}

uint32_t arena_take(struct arena *a, uint64_t units)
{
	const unsigned int class = class_of(&units);
	uint32_t at = a->free[class], i;

	if (at) {
		a->free[class] = a->unit[at].next;
		return at;
	}
	if (a->next + units > a->units) {
		for (i = class + 1; i < ARENA_CLASSES; i++)
			if (a->free[i]) {
				at = a->free[i];
				a->free[i] = a->unit[at].next;
				return at;
			}
		return 0;
	}
	at = a->next;
	a->next += (uint32_t)units;
	for (i = 0; i < units; i++)
		a->unit[at + i].start = at;
	a->unit[at].class = class;
	return at;
}

void arena_give(struct arena *a, const uint32_t at)
{
	struct unit *const unit = &a->unit[at];

	unit->state = UNIT_FREE;
	unit->next = a->free[unit->class];
	a->free[unit->class] = at;
}

struct heap *heap_new(void)
{
	return calloc(1, sizeof(struct heap));
}

static void unlink_big(struct arena *a, struct unit *unit, const uint32_t low)
{
	struct heap *const heap = unit->context->heap;

	if (unit->next)
		a->unit[unit->next].prev = unit->prev;
	if (unit->prev)
		a->unit[unit->prev].next = unit->next;
	else
		heap->bigs[low] = unit->next;
}

void unit_clean(struct arena *a, const uint32_t at, const size_t bytes)
{
	struct unit *const unit = &a->unit[at];

	if (!unit->touched)
		return;
	unit->touched = 0;
	madvise(a->base + ((uint64_t)at << a->shift), (bytes + 4095) & ~4095UL, MADV_DONTNEED);
}

static CUresult alloc_big(struct arena *a, struct context *context, const size_t bytes,
			  const bool managed, const bool low, CUdeviceptr *at)
{
	const struct config *const config = config_get();
	const uint64_t units = (bytes + config->grain - 1) >> a->shift;
	const uint64_t charge = config->exact ? account_units(bytes) :
						units * (config->grain / ACCOUNT_UNIT);
	struct unit *unit;
	uint32_t first;

	if (charge >= 1U << 30 ||
	    account_charge(&sim.account, context->card, (uint32_t)charge, managed))
		return CUDA_ERROR_OUT_OF_MEMORY;
	first = arena_take(a, units);
	if (!first) {
		account_refund(&sim.account, context->card, (uint32_t)charge);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	unit = &a->unit[first];
	unit->context = context;
	unit->bytes = bytes;
	unit->charge = (uint32_t)charge;
	unit->managed = managed;
	unit->id = ++next_block;
	unit->prev = 0;
	unit->next = context->heap->bigs[low];
	if (unit->next)
		a->unit[unit->next].prev = first;
	context->heap->bigs[low] = first;
	unit->state = UNIT_BIG;
	*at = (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)first << a->shift);
	return CUDA_SUCCESS;
}

static CUresult free_big(struct arena *a, struct unit *unit, const uint32_t first)
{
	unlink_big(a, unit, a == &arena[CARDS_MAX]);
	unit_clean(a, first, unit->bytes);
	account_refund(&sim.account, unit->context->card, unit->charge);
	arena_give(a, first);
	return CUDA_SUCCESS;
}

CUresult heap_alloc(struct context *context, const size_t bytes, const bool managed, const bool low,
		    CUdeviceptr *at)
{
	const bool locked = sim_lock();
	struct arena *const a = &arena[low ? CARDS_MAX : context->card];
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	/* The context may have been destroyed since it was looked up. */
	if (context->handle.kind != KIND_CONTEXT)
		rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	else if ((range || arenas_reserve()) && (!low || a->base || low_reserve())) {
		if (bytes <= config_get()->grain - ACCOUNT_UNIT && !managed)
			rc = small_alloc(a, context, bytes, low, at);
		else
			rc = alloc_big(a, context, bytes, managed, low, at);
	}
	sim_unlock(locked);
	return rc;
}

CUresult heap_free(const CUdeviceptr at)
{
	const bool locked = sim_lock();
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	uint32_t index;
	struct arena *const a = arena_find(at, &index);

	if (a) {
		struct unit *const unit = &a->unit[index];
		const uint64_t offset = at & ((1ULL << a->shift) - 1);

		if (unit->state == UNIT_BIG && !offset)
			rc = free_big(a, unit, index);
		else if (unit->state == UNIT_SMALL)
			rc = small_free(a, index, (uint32_t)offset);
	}
	sim_unlock(locked);
	return rc;
}

static bool find_locked(const CUdeviceptr at, struct block *block, struct unit **found)
{
	uint32_t index;
	struct arena *const a = arena_find(at, &index);
	struct unit *unit;

	if (!a)
		return false;
	unit = &a->unit[a->unit[index].start];
	*found = unit;
	block->context = unit->context;
	block->managed = unit->managed;
	if (unit->state == UNIT_BIG) {
		block->base = (CUdeviceptr)(uintptr_t)a->base +
			      ((uint64_t)a->unit[index].start << a->shift);
		block->bytes = unit->bytes;
		block->id = unit->id;
		return at - block->base < block->bytes;
	}
	if (unit->state != UNIT_SMALL)
		return false;
	block->base = at;
	return small_find(unit, (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)index << a->shift),
			  block);
}

bool heap_find(const CUdeviceptr at, struct block *block)
{
	const bool locked = sim_lock();
	struct unit *unit;
	const bool found = find_locked(at, block, &unit);

	sim_unlock(locked);
	return found;
}

bool heap_touch(const CUdeviceptr at, const size_t bytes)
{
	const bool locked = sim_lock();
	struct block block;
	struct unit *unit;
	bool found = find_locked(at, &block, &unit);

	if (found) {
		found = bytes <= block.bytes - (at - block.base);
		unit->touched = 1;
	}
	sim_unlock(locked);
	return found;
}

bool heap_owns(const CUdeviceptr at)
{
	uint32_t index;

	return arena_find(at, &index) != NULL;
}

void heap_drop(struct context *context)
{
	const bool locked = sim_lock();
	struct heap *const heap = context->heap;
	unsigned int low;

	for (low = 0; low < 2; low++) {
		struct arena *const a = &arena[low ? CARDS_MAX : context->card];

		while (heap->bigs[low])
			free_big(a, &a->unit[heap->bigs[low]], heap->bigs[low]);
		small_drop(a, heap, low);
	}
	sim_unlock(locked);
}
