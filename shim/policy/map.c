/*
 * Making and walking maps. See map.h.
 */
#include "policy/map.h"
#include "policy/room.h"

#include <stdbool.h>

/* Two threads may make the same one: the first counts. */
static struct map_node *below_or_new(struct map_node *node, uint64_t number, unsigned floor)
{
	struct map_node *below = map_below(node, number, floor), *made;

	if (below)
		return below;
	made = room_take(sizeof(*made));
	if (!made ||
	    __atomic_compare_exchange_n(&node->below[map_index(number, floor)], &below, made, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	room_give(made, sizeof(*made));
	return below;
}

uint64_t *map_make(struct map_node *root, uint64_t number)
{
	struct map_node *node = below_or_new(root, number, 2);

	node = node ? below_or_new(node, number, 1) : NULL;
	return node ? &node->word[map_at(number)] : NULL;
}

static void walk_leaf(struct map_node *leaf, uint64_t from,
		      void (*visit)(uint64_t number, uint64_t *word, void *argument),
		      void *argument)
{
	for (uint64_t i = 0; i < 1u << MAP_FAN; i++) {
		uint64_t *const word = &leaf->word[map_at(i)];

		if (__atomic_load_n(word, __ATOMIC_RELAXED))
			visit(from + i, word, argument);
	}
}

void map_walk(const struct map_node *root,
	      void (*visit)(uint64_t number, uint64_t *word, void *argument), void *argument)
{
	for (uint64_t i = 0; i < 1u << MAP_FAN; i++) {
		const uint64_t high = i << 2 * MAP_FAN;
		struct map_node *const middle = map_below(root, high, 2);

		for (uint64_t j = 0; middle && j < 1u << MAP_FAN; j++) {
			const uint64_t from = high | j << MAP_FAN;
			struct map_node *const leaf = map_below(middle, from, 1);

			if (leaf)
				walk_leaf(leaf, from, visit, argument);
		}
	}
}
