/*
 * A map from numbers of places to what is noted of each: a tree like a page table, two floors of
 * nodes above leaves of 128 KiB. Owns: its shape. What lies close together in the address space
 * lies close together here, so that among many the note of one at random is rarely far, and nothing
 * about the way to it has to be guessed.
 *
 * Nodes and leaves are made and never given back: what was once found may be looked at without a
 * lock. Who changes it holds a lock of the user's.
 */
#ifndef POLICY_MAP_H
#define POLICY_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_FAN 14    /* bits of a leaf's number that each floor tells apart; any more are lost */
#define MAP_WORDS 14  /* 1 << 14 notes of eight bytes fill a leaf */
#define MAP_LABELS 16 /* or 1 << 16 of two */

struct map_node {
	union {
		struct map_node *below[1u << MAP_FAN];
		uint64_t word[1u << MAP_WORDS];
		uint16_t label[1u << MAP_LABELS];
	};
};

/* Makes what is missing of the way. NULL without memory. */
struct map_node *map_make(struct map_node *root, uint64_t leaf);
/* Tells of each leaf. Locks nothing: one that is being made may be missed. */
void map_walk(const struct map_node *root,
	      void (*visit)(uint64_t number, struct map_node *leaf, void *argument),
	      void *argument);

static inline uint64_t map_index(uint64_t leaf, unsigned floor)
{
	return leaf >> floor * MAP_FAN & ((1u << MAP_FAN) - 1);
}

static inline struct map_node *map_below(const struct map_node *node, uint64_t leaf, unsigned floor)
{
	return __atomic_load_n(&node->below[map_index(leaf, floor)], __ATOMIC_ACQUIRE);
}

/* NULL: nothing was ever noted near. */
static inline struct map_node *map_find(const struct map_node *root, uint64_t leaf)
{
	const struct map_node *const node = map_below(root, leaf, 1);

	return node ? map_below(node, leaf, 0) : NULL;
}

/*
 * Where in their leaf the notes of a place lie. Neighbours lie in different lines, so that threads
 * which got one each do not share one.
 */
static inline uint32_t map_word_at(uint64_t place)
{
	const uint32_t i = place & ((1u << MAP_WORDS) - 1);

	return (i & ~63u) | (i & 7) << 3 | (i >> 3 & 7);
}

static inline uint32_t map_label_at(uint64_t place)
{
	const uint32_t i = place & ((1u << MAP_LABELS) - 1);

	return (i & ~255u) | (i & 7) << 5 | (i >> 3 & 31);
}

/* The way back, of a label's place. */
static inline uint32_t map_label_place(uint32_t at)
{
	return (at & ~255u) | (at & 31) << 3 | (at >> 5 & 7);
}

#endif
