/*
 * Lists of address areas: reservations and mappings. The caller holds the lock.
 */
#ifndef SIMGPU_AREAS_H
#define SIMGPU_AREAS_H

#include "sim.h"

#include <stdlib.h>

struct area {
	CUdeviceptr base;
	size_t bytes;
	struct memory *memory; /* NULL in the list of reservations */
	unsigned int access;   /* CUmemAccess_flags for its own device and all others */
};

struct areas {
	struct area *area;
	size_t count, room;
};

static inline struct area *areas_find(const struct areas *areas, const CUdeviceptr at)
{
	size_t i;

	for (i = 0; i < areas->count; i++)
		if (at - areas->area[i].base < areas->area[i].bytes)
			return &areas->area[i];
	return NULL;
}

static inline bool areas_overlaps(const struct areas *areas, const CUdeviceptr at,
				  const size_t bytes)
{
	size_t i;

	for (i = 0; i < areas->count; i++)
		if (at < areas->area[i].base + areas->area[i].bytes &&
		    areas->area[i].base < at + bytes)
			return true;
	return false;
}

static inline bool areas_add(struct areas *areas, const struct area *area)
{
	if (areas->count == areas->room) {
		const size_t room = areas->room ? 2 * areas->room : 64;
		struct area *const grown = realloc(areas->area, room * sizeof(*grown));

		if (!grown)
			return false;
		areas->area = grown;
		areas->room = room;
	}
	areas->area[areas->count++] = *area;
	return true;
}

static inline void areas_drop(struct areas *areas, struct area *area)
{
	*area = areas->area[--areas->count];
}

#endif
