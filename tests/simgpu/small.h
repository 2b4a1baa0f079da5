/*
 * Between heap.c and small.c: the map of an address range, and requests that share a grain.
 */
#ifndef SIMGPU_SMALL_H
#define SIMGPU_SMALL_H

#include "heap.h"

enum { UNIT_FREE, UNIT_BIG, UNIT_SMALL };
enum { ARENA_CLASSES = 64 + 8 * 28, SMALL_BINS = 20 };

/*
 * One per grain of address space; in use is the one with which a block begins. What an allocation
 * and a free touch, in as little as can be: of many live blocks each is cold.
 */
struct unit {
	union {
		struct context *context; /* UNIT_BIG */
		struct small *small;	 /* UNIT_SMALL */
		uint32_t next;		 /* UNIT_FREE, of its class */
	};
	uint32_t count; /* of ACCOUNT_UNIT */
	uint16_t class; /* set when carved, for ever */
	uint16_t spare : 9; /* bytes of the last ACCOUNT_UNIT that were not asked for */
	uint16_t state : 4, managed : 1;
	uint16_t touched : 1; /* something was copied there */
	uint16_t named : 1;   /* has an id */
};

/* The rest of it, for a search by address. */
struct rare {
	uint64_t id;
	uint32_t start; /* of the block that it is a part of; set when carved, for ever */
};

_Static_assert(sizeof(struct unit) == 16, "four units to a cache line");

struct arena {
	char *base;
	struct unit *unit;
	struct rare *rare;
	uint32_t units, next;
	unsigned int shift;
	uint32_t free[ARENA_CLASSES];
};

/* 64 units of ACCOUNT_UNIT: which are taken, and with which a request begins. */
struct span {
	uint64_t used, first;
};

/* A shared grain: one cache line and its map. */
struct small {
	struct small *prev, *next; /* of its bin */
	struct context *context;
	uint16_t *spare; /* as in struct unit, by first unit; NULL until there was such a request */
	uint64_t id;	 /* of a request that begins with the grain */
	uint32_t at;	 /* unit of the arena */
	uint32_t live;
	uint32_t odd;  /* of them, those with a `spare`: without any it is not looked at */
	uint32_t hint; /* where the last one was freed */
	uint32_t fail; /* the smallest run known not to fit */
	uint32_t words;
	struct span span[];
};

_Static_assert(sizeof(struct small) == 64, "one cache line");

struct heap {
	uint32_t held[2];		  /* blocks and shared grains: ordinary, low */
	uint32_t filled[2];		  /* a bit for each bin that is not empty */
	struct small *last[2];		  /* the grain used last */
	struct small *bin[2][SMALL_BINS]; /* by `fail` */
};

/* So many successive ids; the first. */
uint64_t heap_ids(uint32_t count);
uint32_t arena_take(struct arena *a, uint64_t units);
void arena_give(struct arena *a, uint32_t at);
void unit_clean(struct arena *a, uint32_t at, size_t bytes);

CUresult small_alloc(struct arena *a, struct context *context, size_t bytes, unsigned int low,
		     CUdeviceptr *at);
CUresult small_free(struct arena *a, struct small *s, uint32_t offset);
/* The request that holds `at`; block->base is that of the grain before. */
bool small_find(const struct small *s, CUdeviceptr at, struct block *block);
/* Frees all of a grain. */
void small_drop(struct arena *a, struct small *s);

#endif
