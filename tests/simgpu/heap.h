/*
 * Linear and managed memory: addresses, blocks and grains.
 *
 * Owns: one address range per card (and one below 4 GiB for the 32-bit entry points) and what lies
 * where in it.
 * Promises: a request of a grain and more is charged in whole grains; smaller ones of a context
 * share a grain, which is charged when its first and refunded when its last request is gone;
 * allocation and free are O(1) but for the search inside one grain. Must never: make a system call
 * per pair; give an address that overlaps a live block. All functions but heap_lookup take the
 * process lock themselves.
 */
#ifndef SIMGPU_HEAP_H
#define SIMGPU_HEAP_H

#include "sim.h"

struct block {
	CUdeviceptr base;
	size_t bytes;
	struct context *context;
	bool managed;
	uint64_t id;
};

struct heap *heap_new(void);
CUresult heap_alloc(struct context *context, size_t bytes, bool managed, bool low, CUdeviceptr *at);
CUresult heap_free(CUdeviceptr at);
/* The block that holds `at`; false when there is none. */
bool heap_find(CUdeviceptr at, struct block *block);
/* For copies: whether [at, at+bytes) lies in one live block; notes that its pages are in use. */
bool heap_touch(CUdeviceptr at, size_t bytes);
bool heap_owns(CUdeviceptr at);
/* Frees everything of a context. */
void heap_drop(struct context *context);

#endif
