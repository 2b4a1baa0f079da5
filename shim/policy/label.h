/*
 * Labels: what whole blocks of one size and one owner have in common, under a number of 16 bits.
 * Owns: the table of them. So the map of blocks has two bytes for each place and stays in the
 * second cache where a word for each would not.
 *
 * A label is made when the first block wants it and never given back; there are 65,535, and each
 * context that ended leaves its own behind. Who gets none keeps his block elsewhere, which is
 * dearer only where the caches are short. What a label says changes only in label_move.
 */
#ifndef POLICY_LABEL_H
#define POLICY_LABEL_H

#include "policy/lock.h"

#include <stddef.h>
#include <stdint.h>

#define LABEL_BITS 16
#define LABEL_SLOTS 17 /* of the index: at most half full */

struct labels {
	struct lock lock; /* who makes one */
	uint32_t used;
	uint64_t value[1u << LABEL_BITS];
	uint16_t slot[1u << LABEL_SLOTS]; /* labels by hash of their value, linear probing */
};

extern void *label_memory; /* a struct labels */

/* Makes the table, or finds it empty in a forked child. 0 or -ENOMEM. */
int label_start(void);
uint16_t label_make(uint64_t value);
/* Rewrites what all labels say. No block may come or go meanwhile. */
void label_move(uint64_t (*moved)(uint64_t value, const void *argument), const void *argument);

static inline uint64_t label_value(uint16_t label)
{
	const struct labels *const labels = label_memory;

	return __atomic_load_n(&labels->value[label], __ATOMIC_RELAXED);
}

static inline uint32_t label_home(uint64_t value)
{
	return (uint32_t)(value * 0x9e3779b97f4a7c15ull >> (64 - LABEL_SLOTS));
}

/* The label that says so, made if there is none. 0: all are in use. */
static inline uint16_t label_of(uint64_t value)
{
	const struct labels *const labels = label_memory;
	const uint16_t label = __atomic_load_n(&labels->slot[label_home(value)], __ATOMIC_ACQUIRE);

	return __builtin_expect(label_value(label) == value, 1) ? label : label_make(value);
}

#endif
