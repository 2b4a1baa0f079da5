/*
 * Requests below a grain. See small.h. A grain is looked for where the last request was freed, then
 * among those not known to be too full, then a new one is taken.
 */
#include "small.h"

#include <stdlib.h>
#include <string.h>

static struct small *spent; /* for grains to come */

static unsigned int bin_of(const uint32_t fail)
{
	return fail ? 31 - (unsigned int)__builtin_clz(fail) : 0;
}

static void bin_remove(struct heap *heap, struct small *s, const unsigned int low)
{
	const unsigned int bin = bin_of(s->fail);

	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		heap->bin[low][bin] = s->next;
	if (!heap->bin[low][bin])
		heap->filled[low] &= ~(1U << bin);
}

static void bin_insert(struct heap *heap, struct small *s, const unsigned int low)
{
	const unsigned int bin = bin_of(s->fail);

	s->prev = NULL;
	s->next = heap->bin[low][bin];
	if (s->next)
		s->next->prev = s;
	heap->bin[low][bin] = s;
	heap->filled[low] |= 1U << bin;
}

/* Notes another `fail`; the bin is left only for another one. */
static void set_fail(struct heap *heap, struct small *s, const unsigned int low,
		     const uint32_t fail)
{
	if (bin_of(fail) == bin_of(s->fail)) {
		s->fail = fail;
		return;
	}
	bin_remove(heap, s, low);
	s->fail = fail;
	bin_insert(heap, s, low);
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

		mark_word(&s->span[i / 64].used, ~0ULL << (i % 64), taken);
		i += n;
		left -= n;
	}
	if (left)
		mark_word(&s->span[i / 64].used, ~0ULL >> (64 - left) << (i % 64), taken);
}

/* How many units are free from `first` on, at most `enough`; a taken one ends it. */
static uint32_t run_at(const struct small *s, const uint32_t first, const uint32_t enough)
{
	const uint32_t end = s->words * 64;
	uint32_t i = first;

	while (i < end && i - first < enough) {
		const uint64_t word = s->span[i / 64].used >> (i % 64);

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
		uint64_t freed = ~s->span[i / 64].used >> (i % 64);
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

/* Units of the request that begins with unit `first`. */
static uint32_t length(const struct small *s, const uint32_t first)
{
	const uint32_t end = s->words * 64;
	uint32_t i = first + 1;

	while (i < end) {
		const struct span *const span = &s->span[i / 64];
		const uint64_t word = (~span->used | span->first) >> (i % 64);

		if (word)
			return i - first + (uint32_t)__builtin_ctzll(word);
		i += 64 - i % 64;
	}
	return end - first;
}

static bool begins(const struct small *s, const uint32_t place)
{
	return s->span[place / 64].first >> (place % 64) & 1;
}

static uint16_t spare_at(const struct small *s, const uint32_t place)
{
	return s->odd ? s->spare[place] : 0;
}

static struct small *small_new(const uint32_t units)
{
	const uint32_t words = (units + 63) / 64;
	const size_t size = sizeof(struct small) + words * sizeof(struct span);
	struct small *s = spent;

	if (s) {
		spent = s->next;
		return s;
	}
	s = aligned_alloc(64, (size + 63) & ~(size_t)63);
	if (!s)
		return NULL;
	memset(s, 0, size);
	s->words = words;
	if (units % 64) { /* what lies behind the grain looks like a request */
		mark(s, units, 64 - units % 64, true);
		mark_word(&s->span[units / 64].first, 1ULL << (units % 64), true);
	}
	return s;
}

/* Charges and maps another grain for `context`. */
static __attribute__((noinline)) struct small *
take_grain(struct arena *a, struct context *context, const unsigned int low)
{
	const struct config *const config = config_get();
	const uint32_t units = (uint32_t)(config->grain / ACCOUNT_UNIT);
	struct unit *unit;
	struct small *s;
	uint32_t at;

	if (!config->exact && account_charge(&sim.account, context->card, units, false))
		return NULL;
	at = arena_take(a, 1);
	s = at ? small_new(units) : NULL;
	if (!s) {
		if (at)
			arena_give(a, at);
		if (!config->exact)
			account_refund(&sim.account, context->card, units);
		return NULL;
	}
	unit = &a->unit[at];
	unit->small = s;
	unit->managed = 0;
	unit->state = UNIT_SMALL;
	s->context = context;
	s->id = heap_ids(units);
	s->at = at;
	s->hint = 0;
	s->fail = units + 1;
	context->heap->held[low]++;
	bin_insert(context->heap, s, low);
	return s;
}

/* Of an empty grain. */
static __attribute__((noinline)) void
give_grain(struct arena *a, struct small *s, const unsigned int low)
{
	const struct config *const config = config_get();
	struct context *const context = s->context;
	struct heap *const heap = context->heap;

	bin_remove(heap, s, low);
	if (heap->last[low] == s)
		heap->last[low] = NULL;
	heap->held[low]--;
	unit_clean(a, s->at, config->grain);
	if (!config->exact)
		account_refund(&sim.account, context->card,
			       (uint32_t)(config->grain / ACCOUNT_UNIT));
	arena_give(a, s->at);
	s->next = spent;
	spent = s;
}

/* A place for `count` units in a grain that is already paid; the grain in *in. */
static __attribute__((noinline)) uint32_t find_place(struct heap *heap, const uint32_t count,
						     const unsigned int low, struct small **in)
{
	uint32_t filled = heap->filled[low] >> bin_of(count) << bin_of(count);
	unsigned int tries;
	struct small *s;

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
				set_fail(heap, s, low, count);
			}
			s = next;
		}
	}
	return UINT32_MAX;
}

/* Notes what a request leaves of its last unit. False without memory for that. */
static bool set_spare(struct small *s, const uint32_t place, const uint16_t spare)
{
	if (!spare)
		return true;
	if (!s->spare)
		s->spare = calloc(s->words * 64UL, sizeof(*s->spare));
	if (!s->spare)
		return false;
	s->spare[place] = spare;
	s->odd++;
	return true;
}

static unsigned int is_low(const struct arena *a)
{
	return (uintptr_t)a->base < 1ULL << 32;
}

static inline __attribute__((always_inline)) void
free_request(struct small *s, const uint32_t place)
{
	const uint32_t count = length(s, place);

	if (spare_at(s, place)) {
		s->spare[place] = 0;
		s->odd--;
	}
	mark(s, place, count, false);
	mark_word(&s->span[place / 64].first, 1ULL << (place % 64), false);
	if (config_get()->exact)
		account_refund(&sim.account, s->context->card, count);
}

CUresult small_alloc(struct arena *a, struct context *context, const size_t bytes,
		     const unsigned int low, CUdeviceptr *at)
{
	const bool exact = config_get()->exact;
	const uint32_t count = account_units(bytes);
	struct heap *const heap = context->heap;
	struct small *s = heap->last[low];
	uint32_t place;

	if (exact && account_charge(&sim.account, context->card, count, false))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (s && run_at(s, s->hint, count) >= count) {
		place = s->hint;
	} else {
		place = find_place(heap, count, low, &s);
		if (place == UINT32_MAX) {
			s = take_grain(a, context, low);
			place = 0;
		}
	}
	if (!s || !set_spare(s, place, (uint16_t)(-bytes % ACCOUNT_UNIT))) {
		if (s && !s->live)
			give_grain(a, s, low);
		if (exact)
			account_refund(&sim.account, context->card, count);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mark(s, place, count, true);
	mark_word(&s->span[place / 64].first, 1ULL << (place % 64), true);
	s->live++;
	s->hint = place + count < s->words * 64 ? place + count : 0;
	heap->last[low] = s;
	*at = (CUdeviceptr)(uintptr_t)a->base + ((uint64_t)s->at << a->shift) +
	      (uint64_t)place * ACCOUNT_UNIT;
	return CUDA_SUCCESS;
}

CUresult small_free(struct arena *a, struct small *s, const uint32_t offset)
{
	struct heap *const heap = s->context->heap;
	const unsigned int low = is_low(a);
	const uint32_t place = offset / ACCOUNT_UNIT;

	if (offset % ACCOUNT_UNIT || !begins(s, place))
		return CUDA_ERROR_INVALID_VALUE;
	free_request(s, place);
	s->hint = place;
	heap->last[low] = s;
	if (!--s->live && !config_get()->small_keep) {
		give_grain(a, s, low);
	} else if (s->fail <= s->words * 64) {
		set_fail(heap, s, low, s->words * 64 + 1);
	}
	return CUDA_SUCCESS;
}

bool small_find(const struct small *s, const CUdeviceptr at, struct block *block)
{
	const uint64_t offset = (at - block->base) / ACCOUNT_UNIT;
	uint32_t word = (uint32_t)offset / 64, place;
	uint64_t firsts = s->span[word].first << (63 - offset % 64) >> (63 - offset % 64);

	while (!firsts && word)
		firsts = s->span[--word].first;
	if (!firsts)
		return false;
	place = word * 64 + 63 - (uint32_t)__builtin_clzll(firsts);
	block->context = s->context;
	block->id = s->id + place;
	block->base += (uint64_t)place * ACCOUNT_UNIT;
	block->bytes = length(s, place) * (size_t)ACCOUNT_UNIT - spare_at(s, place);
	return at - block->base < block->bytes;
}

void small_drop(struct arena *a, struct small *s)
{
	const uint32_t units = (uint32_t)(config_get()->grain / ACCOUNT_UNIT);
	uint32_t place;

	for (place = 0; place < units && s->live; place++)
		if (begins(s, place)) {
			free_request(s, place);
			s->live--;
		}
	give_grain(a, s, is_low(a));
}
