/*
 * Between heap.c and small.c: the map of an address range, and requests that share a grain.
 */
#ifndef SIMGPU_SMALL_H
#define SIMGPU_SMALL_H

#include "heap.h"

enum { UNIT_FREE, UNIT_BIG, UNIT_SMALL };
enum { ARENA_CLASSES = 64 + 8 * 28, SMALL_BINS = 20 };

/* One per grain of address space. Only `start` is used in those that do not begin a block. */
struct unit {
	uint32_t start, class; /* set when carved, for ever */
	uint32_t state, charge;
	uint64_t bytes;
	struct context *context;
	struct small *small;
	uint64_t id;
	uint32_t prev, next; /* of the context's blocks, or of free ones */
	uint8_t managed, touched;
};

struct arena {
	char *base;
	struct unit *unit;
	uint32_t units, next;
	unsigned int shift;
	uint32_t free[ARENA_CLASSES];
};

/* A shared grain: a bit and a size for each 512 bytes. */
struct small {
	struct small *prev, *next;	   /* of its bin */
	struct small *prev_all, *next_all; /* of the context */
	uint32_t at;			   /* unit */
	uint32_t live;
	uint32_t hint; /* where the last one was freed */
	uint32_t fail; /* the smallest run known not to fit */
	uint32_t words;
	uint32_t bin;
	uint64_t *used;
	uint32_t *bytes; /* of the request that begins here, else 0 */
};

struct heap {
	uint32_t bigs[2];	/* first block: ordinary, low */
	struct small *all[2];
	struct small *bin[2][SMALL_BINS]; /* by `fail` */
	uint32_t filled[2];		  /* a bit for each bin that is not empty */
	struct small *last[2];		  /* the grain used last */
};

uint32_t arena_take(struct arena *a, uint64_t units);
void arena_give(struct arena *a, uint32_t at);
void unit_clean(struct arena *a, uint32_t at, size_t bytes);

CUresult small_alloc(struct arena *a, struct context *context, size_t bytes, unsigned int low,
		     CUdeviceptr *at);
CUresult small_free(struct arena *a, uint32_t index, uint32_t offset);
/* Completes block->base, which lies in the grain at `base`, and the rest. */
bool small_find(const struct unit *unit, CUdeviceptr base, struct block *block);
void small_drop(struct arena *a, struct heap *heap, unsigned int low);

#endif
