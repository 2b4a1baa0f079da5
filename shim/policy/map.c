/*
 * Making and walking maps. See map.h.
 */
#include "policy/map.h"
#include "policy/room.h"

#include <stdbool.h>

/* Two threads may make the same one: the first counts. */
static struct map_node *below_or_new(struct map_node *node, uint64_t leaf, unsigned floor)
{
	struct map_node *below = map_below(node, leaf, floor), *made;

	if (below)
		return below;
	made = room_take(sizeof(*made));
	if (!made ||
	    __atomic_compare_exchange_n(&node->below[map_index(leaf, floor)], &below, made, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	room_give(made, sizeof(*made));
	return below;
}

struct map_node *map_make(struct map_node *root, uint64_t leaf)
{
	struct map_node *const node = below_or_new(root, leaf, 1);

	return node ? below_or_new(node, leaf, 0) : NULL;
}

void map_walk(const struct map_node *root,
	      void (*visit)(uint64_t number, struct map_node *leaf, void *argument), void *argument)
{
	for (uint64_t i = 0; i < 1u << MAP_FAN; i++) {
		struct map_node *const node = map_below(root, i << MAP_FAN, 1);

		for (uint64_t j = 0; node && j < 1u << MAP_FAN; j++) {
			struct map_node *const leaf = map_below(node, j, 0);

			if (leaf)
				visit(i << MAP_FAN | j, leaf, argument);
		}
	}
}
