/*
 * Making labels. See label.h.
 */
#include "policy/label.h"
#include "base/wiped.h"

#include <errno.h>

void *label_memory;

int label_start(void)
{
	return wiped_once(&label_memory, sizeof(struct labels)) ? 0 : -ENOMEM;
}

uint16_t label_make(uint64_t value)
{
	struct labels *const labels = label_memory;
	uint32_t i = label_home(value);
	uint16_t label;

	lock_take(&labels->lock);
	while ((label = labels->slot[i]) && label_value(label) != value)
		i = (i + 1) & ((1u << LABEL_SLOTS) - 1);
	if (!label && labels->used < (1u << LABEL_BITS) - 1) {
		label = (uint16_t)++labels->used;
		__atomic_store_n(&labels->value[label], value, __ATOMIC_RELAXED);
		__atomic_store_n(&labels->slot[i], label, __ATOMIC_RELEASE);
	}
	lock_give(&labels->lock);
	return label;
}

void label_move(uint64_t (*moved)(uint64_t value, const void *argument), const void *argument)
{
	struct labels *const labels = label_memory;

	lock_take(&labels->lock);
	for (uint32_t i = 1; i <= labels->used; i++)
		__atomic_store_n(&labels->value[i], moved(labels->value[i], argument),
				 __ATOMIC_RELAXED);
	lock_give(&labels->lock);
}
