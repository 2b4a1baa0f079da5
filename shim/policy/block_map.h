/*
 * The map of blocks that begin where a place does: a tree of three floors like a page table, one
 * word for each 2 MiB of address space. Owns: the shape of the tree and of a word. Blocks of whole
 * grains begin at a place and lie close together, eight words in a line: among many the word of a
 * block at random is rarely far, and nothing about the way to it has to be guessed.
 *
 * Nodes are made and never given back; a word belongs to the shard of its address (block_table.h),
 * whose lock is held to change it.
 */
#ifndef POLICY_BLOCK_MAP_H
#define POLICY_BLOCK_MAP_H

#include "policy/block.h"

#include <stddef.h>

#define MAP_PLACE 21 /* a place has 1 << 21 bytes */
#define MAP_FAN 12   /* bits of an address that each floor of the tree tells apart */
#define MAP_TOP (MAP_PLACE + 3 * MAP_FAN)
#define MAP_CONTEXT 45 /* where it lies in a word */

struct map_node {
	union {
		struct map_node *below[1u << MAP_FAN];
		uint64_t word[1u << MAP_FAN];
	};
};

/* Makes what is missing of the way to a place. NULL without memory. */
uint64_t *map_make(struct map_node *root, uint64_t pointer);
/* Tells of each word that is not 0. Locks nothing: what is being entered may be missed. */
void map_walk(const struct map_node *root,
	      void (*visit)(uint64_t pointer, uint64_t *word, void *argument), void *argument);

static inline struct map_node *map_below(const struct map_node *node, uint64_t pointer,
					 unsigned floor)
{
	const uint64_t i = pointer >> (MAP_PLACE + floor * MAP_FAN) & ((1u << MAP_FAN) - 1);

	return __atomic_load_n(&node->below[i], __ATOMIC_ACQUIRE);
}

/* Neighbours lie in different lines, so that threads which got one each do not share one. */
static inline uint64_t map_at(uint64_t pointer)
{
	const uint64_t i = pointer >> MAP_PLACE & ((1u << MAP_FAN) - 1);

	return (i & ~63ull) | (i & 7) << 3 | (i >> 3 & 7);
}

/* NULL: no block was ever there, or the address is inside a place. */
static inline uint64_t *map_find(const struct map_node *root, uint64_t pointer)
{
	struct map_node *node;

	if (pointer >> MAP_TOP || pointer & ((1u << MAP_PLACE) - 1))
		return NULL;
	node = map_below(root, pointer, 2);
	node = node ? map_below(node, pointer, 1) : NULL;
	return node ? &node->word[map_at(pointer)] : NULL;
}

/* From the lowest bit on: units 28, device 6, seat 8, family 3, context 19. 0: it does not fit. */
static inline uint64_t map_word(const struct block *block)
{
	if (block->kind != BLOCK_WHOLE || !block->units || block->units >> 28 ||
	    block->context >> (64 - MAP_CONTEXT) || block->pointer & ((1u << MAP_PLACE) - 1) ||
	    block->pointer >> MAP_TOP)
		return 0;
	return block->units | (uint64_t)block->device << 28 | (uint64_t)block->seat << 34 |
	       (uint64_t)block->family << 42 | (uint64_t)block->context << MAP_CONTEXT;
}

static inline struct block map_block(uint64_t pointer, uint64_t word)
{
	return (struct block){.pointer = pointer,
			      .units = word & ((1u << 28) - 1),
			      .context = (uint32_t)(word >> MAP_CONTEXT),
			      .device = word >> 28 & 63,
			      .family = word >> 42 & 7,
			      .seat = word >> 34 & 255,
			      .kind = BLOCK_WHOLE};
}

#endif
