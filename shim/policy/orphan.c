/*
 * Frees that met no entry. See orphan.h.
 */
#include "policy/orphan.h"
#include "policy/block.h"
#include "policy/lock.h"
#include "base/wiped.h"

#include <errno.h>

#define KEPT 256u /* an older one would be met only by a claim open for so many of them */

struct orphans {
	struct lock lock;
	uint32_t next;
	struct {
		uint64_t pointer, epoch;
	} list[KEPT];
};

static void *memory;

static struct orphans *orphans(void)
{
	return memory;
}

int orphan_start(void)
{
	return wiped_once(&memory, sizeof(struct orphans)) ? 0 : -ENOMEM;
}

/* The lock is held from the raise to the note: who sees the one finds the other. */
void orphan_note(uint64_t pointer, bool (*look)(uint64_t pointer))
{
	struct orphans *const all = orphans();

	lock_take(&all->lock);
	block_epoch_raise();
	if (!look(pointer)) {
		const uint32_t i = all->next++ % KEPT;

		all->list[i].pointer = pointer;
		all->list[i].epoch = block_epoch();
	}
	lock_give(&all->lock);
}

bool orphan_take(uint64_t pointer, uint64_t epoch)
{
	struct orphans *const all = orphans();
	bool found = false;

	lock_take(&all->lock);
	for (uint32_t i = 0; i < KEPT && !found; i++) {
		found = all->list[i].pointer == pointer && all->list[i].epoch > epoch;
		if (found)
			all->list[i].pointer = 0;
	}
	lock_give(&all->lock);
	return found;
}
