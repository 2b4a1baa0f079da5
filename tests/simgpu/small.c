/*
 * Requests below a grain. See small.h. A grain is looked for where the last request was freed, then
 * among those not known to be too full, then a new one is taken.
 */
#include "small.h"

#include <stdlib.h>

static unsigned int bin_of(const uint32_t fail)
{
	return fail ? 31 - (unsigned int)__builtin_clz(fail) : 0;
}

static void bin_remove(struct heap *heap, struct small *s, const unsigned int low)
{
	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		heap->bin[low][s->bin] = s->next;
	if (!heap->bin[low][s->bin])
		heap->filled[low] &= ~(1U << s->bin);
}

static void bin_insert(struct heap *heap, struct small *s, const unsigned int low)
{
	s->bin = bin_of(s->fail);
	s->prev = NULL;
	s->next = heap->bin[low][s->bin];
	if (s->next)
		s->next->prev = s;
	heap->bin[low][s->bin] = s;
	heap->filled[low] |= 1U << s->bin;
}

static inline void mark_word(uint64_t *word, const uint64_t mask, const bool taken)
{
	*word = taken ? *word | mask : *word & ~mask;
}

static inline void mark(struct small *s, const uint32_t first, const uint32_t count,
			const bool taken)
{
	uint32_t i = first, left = count;

	while (i % 64 + left > 64) {
		const uint32_t n = 64 - i % 64;

		mark_word(&s->used[i / 64], ~0ULL << (i % 64), taken);
		i += n;
		left -= n;
	}
	if (left)
		mark_word(&s->used[i / 64], ~0ULL >> (64 - left) << (i % 64), taken);
}

/* How many units are free from `first` on, at most `enough`; a taken one ends it. */
static uint32_t run_at(const struct small *s, const uint32_t first, const uint32_t enough)
{
	const uint32_t end = s->words * 64;
	uint32_t i = first;

	while (i < end && i - first < enough) {
		const uint64_t word = s->used[i / 64] >> (i % 64);

		if (word)
			return i - first + (uint32_t)__builtin_ctzll(word);
		i += 64 - i % 64;
	}
	return (i < end ? i : end) - first;
}

/* The first fit, or words * 64. */
static uint32_t fit(const struct small *s, const uint32_t count)
{
	const uint32_t end = s->words * 64;
	uint32_t i = 0;

	while (i < end) {
		uint64_t freed = ~s->used[i / 64] >> (i % 64);
		uint32_t run;

		if (!freed) {
			i += 64 - i % 64;
			continue;
		}
		i += (uint32_t)__builtin_ctzll(freed);
		run = run_at(s, i, count);
		if (run >= count)
			return i;
		i += run;
	}
	return end;
}

static struct small *small_new(const uint32_t units)
{
	const uint32_t words = (units + 63) / 64;
	struct small *const s = calloc(1, sizeof(*s) + words * 8 + words * 64 * 4UL);

	if (!s)
		return NULL;
	s->words = words;
	s->used = (uint64_t *)(s + 1);
	s->bytes = (uint32_t *)(s->used + words);
	return s;
}

/* Charges and maps another grain for `heap`. */
static struct small *take_grain(struct arena *a, struct context *context, const unsigned int low)
{
	const struct config *const config = config_get();
	const uint32_t units = (uint32_t)(config->grain / ACCOUNT_UNIT);
	struct heap *const heap = context->heap;
	struct unit *unit;
	struct small *s;
	uint32_t at;

	if (!config->exact && account_charge(&sim.account, context->card, units, false))
		return NULL;
	at = arena_take(a, 1);
	unit = &a->unit[at];
	if (at && !unit->small)
		unit->small = small_new(units);
	if (!at || !unit->small) {
		if (!config->exact)
			account_refund(&sim.account, context->card, units);
		return NULL;
	}
	s = unit->small;
	unit->context = context;
	unit->managed = 0;
	unit->state = UNIT_SMALL;
	s->at = at;
	s->live = s->hint = 0;
	if (units % 64)
		mark(s, units, 64 - units % 64, true);
	s->fail = units + 1;
	s->prev_all = NULL;
	s->next_all = heap->all[low];
	if (s->next_all)
		s->next_all->prev_all = s;
	heap->all[low] = s;
	bin_insert(heap, s, low);
	return s;
}

static void give_grain(struct arena *a, struct heap *heap, struct small *s, const unsigned int low)
{
	const struct config *const config = config_get();
	struct unit *const unit = &a->unit[s->at];

	bin_remove(heap, s, low);
	if (s->next_all)
		s->next_all->prev_all = s->prev_all;
	if (s->prev_all)
		s->prev_all->next_all = s->next_all;
	else
		heap->all[low] = s->next_all;
	if (heap->last[low] == s)
		heap->last[low] = NULL;
	unit_clean(a, s->at, config->grain);
	if (!config->exact)
		account_refund(&sim.account, unit->context->card,
			       (uint32_t)(config->grain / ACCOUNT_UNIT));
	arena_give(a, s->at);
}

/* A place for `count` units in a grain that is already paid; the grain in *in. */
static uint32_t find_place(struct heap *heap, const uint32_t count, const unsigned int low,
			   struct small **in)
{
	struct small *s = heap->last[low];
	uint32_t filled = heap->filled[low] >> bin_of(count) << bin_of(count);
	unsigned int tries;

	if (s && run_at(s, s->hint, count) >= count) {
		*in = s;
		return s->hint;
	}
	for (; filled; filled &= filled - 1) {
		for (s = heap->bin[low][__builtin_ctz(filled)], tries = 0; s && tries < 16;
		     tries++) {
			struct small *const next = s->next;

			if (s->fail > count) {
				const uint32_t place = fit(s, count);

				if (place < s->words * 64) {
					*in = s;
					return place;
				}
				bin_remove(heap, s, low);
				s->fail = count;
				bin_insert(heap, s, low);
			}
			s = next;
		}
	}
	return UINT32_MAX;
}

CUresult small_alloc(struct arena *a, struct context *context, const size_t bytes,
		     const unsigned int low, CUdeviceptr *at)
{
	const bool exact = config_get()->exact;
	const uint32_t count = account_units(bytes);
	struct heap *const heap = context->heap;
	struct small *s;
	uint32_t place;

	if (exact && account_charge(&sim.account, context->card, count, false))
		return CUDA_ERROR_OUT_OF_MEMORY;
	place = find_place(heap, count, low, &s);
	if (place == UINT32_MAX) {
		s = take_grain(a, context, low);
		place = 0;
	}
	if (!s || place == UINT32_MAX) {
		if (exact)
			account_refund(&sim.account, context->card, count);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mark(s, place, count, true);
	s->bytes[place] = (uint32_t)bytes;
	s->live++;
	s->hint = place + count < s->words * 64 ? place + count : 0;
	heap->last[low] = s;
	*at = (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)s->at << a->shift) +
	      (uint64_t)place * ACCOUNT_UNIT;
	return CUDA_SUCCESS;
}

CUresult small_free(struct arena *a, const uint32_t index, const uint32_t offset)
{
	struct unit *const unit = &a->unit[index];
	struct small *const s = unit->small;
	struct heap *const heap = unit->context->heap;
	const unsigned int low = s->at && a->base && (uintptr_t)a->base < 1ULL << 32;
	const uint32_t place = offset / ACCOUNT_UNIT;
	uint32_t count;

	if (offset % ACCOUNT_UNIT || !s->bytes[place])
		return CUDA_ERROR_INVALID_VALUE;
	count = account_units(s->bytes[place]);
	s->bytes[place] = 0;
	mark(s, place, count, false);
	if (config_get()->exact)
		account_refund(&sim.account, unit->context->card, count);
	s->hint = place;
	heap->last[low] = s;
	if (!--s->live && !config_get()->small_keep) {
		give_grain(a, heap, s, low);
	} else if (s->fail <= s->words * 64) {
		bin_remove(heap, s, low);
		s->fail = s->words * 64 + 1;
		bin_insert(heap, s, low);
	}
	return CUDA_SUCCESS;
}

bool small_find(const struct unit *unit, const CUdeviceptr base, struct block *block)
{
	const struct small *const s = unit->small;
	uint32_t place = (uint32_t)((block->base - base) / ACCOUNT_UNIT);
	const CUdeviceptr at = block->base;

	while (place && !s->bytes[place])
		place--;
	block->base = base + (uint64_t)place * ACCOUNT_UNIT;
	block->bytes = s->bytes[place];
	block->id = unit->id + place;
	return at - block->base < block->bytes;
}

void small_drop(struct arena *a, struct heap *heap, const unsigned int low)
{
	while (heap->all[low]) {
		struct small *const s = heap->all[low];
		struct unit *const unit = &a->unit[s->at];
		uint32_t i;

		for (i = 0; i < s->words * 64; i++) {
			if (s->bytes[i] && config_get()->exact)
				account_refund(&sim.account, unit->context->card,
					       account_units(s->bytes[i]));
			s->bytes[i] = 0;
		}
		mark(s, 0, s->words * 64, false);
		give_grain(a, heap, s, low);
	}
	heap->last[low] = NULL;
}
