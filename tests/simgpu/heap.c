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
static uint64_t last_id;

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

/*
 * A table that is filled from its begin. Huge pages keep a random entry cheap in a large one; the
 * first entries lie before the first of them, so that a process with few blocks touches none.
 */
static void *table_map(const uint64_t bytes)
{
	const uint64_t huge = 2U << 20, before = 64U << 10;
	char *base = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	base = (char *)(((uintptr_t)base + before + huge - 1) & ~(uintptr_t)(huge - 1));
	if (bytes > before)
		madvise(base, bytes - before, MADV_HUGEPAGE);
	return base - before;
}

static bool arena_map(struct arena *a, char *base, const uint64_t size, const uint64_t grain)
{
	const uint64_t entries = size / grain;

	a->unit = table_map(entries * sizeof(*a->unit));
	a->rare = table_map(entries * sizeof(*a->rare));
	if (!a->unit || !a->rare)
		return false;
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

	for (i = 0; i < config->devices; i++)
		if (config->card[i].bytes > largest)
			largest = config->card[i].bytes;
	stride_shift = 64 - (unsigned int)__builtin_clzll(8 * largest - 1);
	/* Less where the address space is smaller, as under the thread sanitizer. */
	do {
		size = (uint64_t)config->devices << stride_shift;
		base = mmap(NULL, size + (64U << 20), PROT_READ | PROT_WRITE, flags, -1, 0);
	} while (base == MAP_FAILED && 1ULL << --stride_shift >= 2 * largest);
	if (base == MAP_FAILED)
		return false;
	base = (char *)(((uintptr_t)base + (64U << 20) - 1) & ~(uintptr_t)((64U << 20) - 1));
	madvise(base, size, MADV_DONTDUMP);
	madvise(base, size, MADV_DONTFORK);
	for (i = 0; i < config->devices; i++)
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

/* Apart: once only. */
static __attribute__((noinline, cold)) bool reserve(const bool low)
{
	return (range || arenas_reserve()) && (!low || low_reserve());
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
		a->rare[at + i].start = at;
	a->unit[at].class = (uint16_t)class;
	return at;
}

void arena_give(struct arena *a, const uint32_t at)
{
	struct unit *const unit = &a->unit[at];

	unit->state = UNIT_FREE;
	unit->next = a->free[unit->class];
	a->free[unit->class] = at;
}

uint64_t heap_ids(const uint32_t count)
{
	last_id += count;
	return last_id - count + 1;
}

struct heap *heap_new(void)
{
	return calloc(1, sizeof(struct heap));
}

void unit_clean(struct arena *a, const uint32_t at, const size_t bytes)
{
	struct unit *const unit = &a->unit[at];

	if (!unit->touched)
		return;
	unit->touched = 0;
	madvise(a->base + ((uint64_t)at << a->shift), (bytes + 4095) & ~4095UL, MADV_DONTNEED);
}

/* What a block costs, in units of the account. */
static inline uint32_t charge_of(const struct config *config, const uint32_t count)
{
	const uint32_t grain = (uint32_t)(config->grain / ACCOUNT_UNIT);

	return config->exact ? count : (count + grain - 1) & ~(grain - 1);
}

static CUresult alloc_big(const struct config *config, struct arena *a, struct context *context,
			  const size_t bytes, const bool managed, const bool low, CUdeviceptr *at)
{
	const uint32_t count = account_units(bytes);
	const uint32_t charge = charge_of(config, count);
	struct unit *unit;
	uint32_t first;

	if (bytes >> 39 || charge >= 1U << 30 || /* the account's words hold 30 bits */
	    account_charge(&sim.account, context->card, charge, managed))
		return CUDA_ERROR_OUT_OF_MEMORY;
	first = arena_take(a, (bytes + config->grain - 1) >> a->shift);
	if (!first) {
		account_refund(&sim.account, context->card, charge);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	unit = &a->unit[first];
	unit->context = context;
	unit->count = count;
	unit->spare = (uint16_t)(-bytes % ACCOUNT_UNIT);
	unit->state = UNIT_BIG;
	unit->managed = managed;
	unit->touched = unit->named = 0;
	context->heap->held[low]++;
	*at = (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)first << a->shift);
	return CUDA_SUCCESS;
}

static size_t bytes_of(const struct unit *unit)
{
	return unit->count * (size_t)ACCOUNT_UNIT - unit->spare;
}

static inline __attribute__((always_inline)) CUresult
free_big(struct arena *a, struct unit *unit, const uint32_t first)
{
	struct context *const context = unit->context;

	context->heap->held[a == &arena[CARDS_MAX]]--;
	unit_clean(a, first, bytes_of(unit));
	account_refund(&sim.account, context->card, charge_of(config_get(), unit->count));
	arena_give(a, first);
	return CUDA_SUCCESS;
}

CUresult heap_alloc(struct context *context, const size_t bytes, const bool managed, const bool low,
		    CUdeviceptr *at)
{
	const bool locked = sim_lock();
	CUresult rc;

	/* The context may have been destroyed since it was looked up. */
	if (!context_lives(context)) {
		rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	} else {
		const struct config *const config = config_get();
		struct arena *const a = &arena[low ? CARDS_MAX : context->card];

		if ((!range || !a->base) && !reserve(low))
			rc = CUDA_ERROR_OUT_OF_MEMORY;
		else if (bytes <= config->grain - ACCOUNT_UNIT && !managed)
			rc = small_alloc(a, context, bytes, low, at);
		else
			rc = alloc_big(config, a, context, bytes, managed, low, at);
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
			rc = small_free(a, unit->small, (uint32_t)offset);
	}
	sim_unlock(locked);
	return rc;
}

static bool find_locked(const CUdeviceptr at, struct block *block, struct unit **found)
{
	uint32_t index;
	struct arena *const a = arena_find(at, &index);
	struct unit *unit;
	uint32_t start;

	if (!a)
		return false;
	start = a->rare[index].start;
	unit = *found = &a->unit[start];
	block->base = (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)start << a->shift);
	block->managed = unit->managed;
	if (unit->state == UNIT_SMALL)
		return small_find(unit->small, at, block);
	if (unit->state != UNIT_BIG)
		return false;
	if (!unit->named)
		a->rare[start].id = heap_ids(1);
	unit->named = 1;
	block->context = unit->context;
	block->bytes = bytes_of(unit);
	block->id = a->rare[start].id;
	return at - block->base < block->bytes;
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
	uint32_t at;

	for (low = 0; low < 2; low++) {
		struct arena *const a = &arena[low ? CARDS_MAX : context->card];

		for (at = 1; heap->held[low] && at < a->next; at++) {
			struct unit *const unit = &a->unit[at];

			if (unit->state == UNIT_BIG && unit->context == context)
				free_big(a, unit, at);
			else if (unit->state == UNIT_SMALL && unit->small->context == context)
				small_drop(a, unit->small);
		}
	}
	sim_unlock(locked);
}
