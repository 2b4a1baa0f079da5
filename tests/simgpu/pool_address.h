/*
 * Addresses for the blocks of pools, for pool.c, which holds its lock around each call.
 *
 * Owns: one range of addresses. A block's room is a power of two that stays with its address for
 * ever; there is far more address space than memory.
 */
#ifndef SIMGPU_POOL_ADDRESS_H
#define SIMGPU_POOL_ADDRESS_H

#include "pool.h"

/* With room for so many bytes, and all else 0; NULL: none is left. */
struct pool_block *address_take(size_t bytes);
void address_give(struct pool_block *block);
/* The block that holds `at`, with memory or without; NULL: none. */
struct pool_block *address_find(CUdeviceptr at);

#endif
