/*
 * Which memory an address belongs to, over all kinds: linear, managed, mapped (VMM), registered
 * host memory.
 */
#ifndef SIMGPU_RANGE_H
#define SIMGPU_RANGE_H

#include "sim.h"

/* Whether [at, at+bytes) may be read or written by the device; notes that linear pages are in
 * use. */
bool range_device(CUdeviceptr at, size_t bytes);

/* vmm.c */
bool vmm_covers(CUdeviceptr at, size_t bytes);
/* The mapping that holds `at`: its base, size and card (-1: host memory). */
bool vmm_find(CUdeviceptr at, CUdeviceptr *base, size_t *bytes, int *card);

/* host.c */
struct host_block {
	char *base;
	size_t bytes;
	unsigned int flags;
	bool registered;
	struct context *context;
};
bool host_find(const void *at, struct host_block *block);

#endif
