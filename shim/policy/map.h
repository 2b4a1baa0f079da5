/*
 * A map from numbers of places to words: a tree of three floors, like a page table. Owns: its
 * shape. What lies close together in the address space lies close together here, eight words in a
 * line, so that among many the word of one at random is rarely far, and nothing about the way to it
 * has to be guessed.
 *
 * Nodes are made and never given back: a word once found may be looked at without a lock. Who
 * changes it holds a lock of the user's.
 */
#ifndef POLICY_MAP_H
#define POLICY_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_FAN 14 /* bits of a number that each floor tells apart; beyond three they are one */

struct map_node {
	union {
		struct map_node *below[1u << MAP_FAN];
		uint64_t word[1u << MAP_FAN];
	};
};

/* Makes what is missing of the way. NULL without memory. */
uint64_t *map_make(struct map_node *root, uint64_t number);
/* Tells of each word that is not 0. Locks nothing: what is being entered may be missed. */
void map_walk(const struct map_node *root,
	      void (*visit)(uint64_t number, uint64_t *word, void *argument), void *argument);

static inline uint64_t map_index(uint64_t number, unsigned floor)
{
	return number >> floor * MAP_FAN & ((1u << MAP_FAN) - 1);
}

static inline struct map_node *map_below(const struct map_node *node, uint64_t number,
					 unsigned floor)
{
	return __atomic_load_n(&node->below[map_index(number, floor)], __ATOMIC_ACQUIRE);
}

/* Neighbours lie in different lines, so that threads which got one each do not share one. */
static inline uint64_t map_at(uint64_t number)
{
	const uint64_t i = map_index(number, 0);

	return (i & ~63ull) | (i & 7) << 3 | (i >> 3 & 7);
}

/* NULL: there never was a word. */
static inline uint64_t *map_find(const struct map_node *root, uint64_t number)
{
	struct map_node *node = map_below(root, number, 2);

	node = node ? map_below(node, number, 1) : NULL;
	return node ? &node->word[map_at(number)] : NULL;
}

#endif
