/*
 * Memory pools: what each holds of its card, and the blocks that were allocated from it.
 *
 * Owns: one address range for the blocks of all pools, and every pool of the process.
 * Promises: a pool grows by SIMGPU_POOL_STEP when its free memory does not do, and charges the
 * account with what it reserves, not with what is used of it; it shrinks at a synchronisation, a
 * trim and its end only. What was freed in stream order may be used again at once, as all streams
 * are idle. A pool that was destroyed lives until its last block is freed. A pool belongs to no
 * context.
 */
#ifndef SIMGPU_POOL_H
#define SIMGPU_POOL_H

#include "sim.h"

struct pool {
	struct handle handle;
	int card; /* -1: host memory, which costs nothing here */
	bool ended;
	uint32_t blocks;   /* not freed yet */
	uint64_t reserved; /* bytes, charged */
	uint64_t used, reserved_high, used_high;
	uint64_t threshold, most;
	CUmemPoolProps props;
	int reuse[3];
	unsigned int access;
	struct pool *next;
};

struct pool_block {
	CUdeviceptr base;
	size_t bytes; /* as asked for; 0: free */
	struct pool *pool;
	uint64_t id;
	uint32_t shift; /* of its room */
	bool touched;
	bool node;   /* a graph's: the address stays when it is freed */
	bool backed; /* has memory */
	struct pool_block *next_free;
};

struct pool *pool_get(CUmemoryPool handle);
struct pool *pool_default(unsigned int card);
/* The one that cuMemAllocAsync uses on a card. */
struct pool *pool_current(unsigned int card);
CUresult pool_set_current(unsigned int card, struct pool *pool);
CUresult pool_new(const CUmemPoolProps *props, int card, struct pool **made);
CUresult pool_end(struct pool *pool);

CUresult pool_alloc(struct pool *pool, size_t bytes, CUdeviceptr *at);
CUresult pool_free(CUdeviceptr at);
/* Gives back all that is free beyond `keep` bytes. */
void pool_trim(struct pool *pool, uint64_t keep);
/* A stream, an event or a context was waited for: each pool gives back what is free beyond its
 * threshold. */
void pool_synchronized(void);

/* What graphs of a card draw on; nobody's handle leads to it. */
struct pool *pool_of_graphs(unsigned int card);
/* An address without memory, and the reverse. */
CUresult pool_node_new(struct pool *pool, size_t bytes, CUdeviceptr *at);
void pool_node_end(CUdeviceptr at);
/* Memory for it. CUDA_ERROR_ALREADY_MAPPED: it has some. */
CUresult pool_node_back(CUdeviceptr at);

/* The block that holds `at`; false when there is none. */
bool pool_find(CUdeviceptr at, struct pool_block *block);
/* For copies: whether [at, at+bytes) lies in one live block; notes that its pages are in use. */
bool pool_touch(CUdeviceptr at, size_t bytes);

#endif
