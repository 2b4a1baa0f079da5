/*
 * Memory pools: what each has reserved of its device is charged, whatever of it is in use.
 *
 * Owns: for each pool of ours its device and what is charged for it, brought to what the driver
 * says is reserved after each call that can change it.
 * Promise: a call that may let a pool grow has claimed the growth before the driver is asked, a
 * whole step where there is room; what grew beyond what can be charged is given back. Adds no
 * synchronisation. Pools of host memory and of other processes are not charged.
 *
 *	rc = pool_open(&claim, stream, pool, bytes);
 *	if (rc != CUDA_SUCCESS)
 *		return rc;
 *	do
 *		rc = real.cuMemAllocFromPoolAsync(dptr, bytes, pool, stream);
 *	while (claim_again(&claim.claim, rc));
 *	return pool_close(&claim, rc, dptr);
 */
#ifndef POLICY_POOL_H
#define POLICY_POOL_H

#include "policy/claim.h"

/* Makes the memory, or finds it wiped. 0 or -ENOMEM. */
int pool_start(void);

struct pool_claim {
	struct claim claim; /* without a device: nothing is charged */
	CUmemoryPool pool;
	CUstream stream;
};

/* `pool` NULL: the one that the stream's device uses. `name` is the entry point's. */
CUresult pool_open_from(const void *caller, struct pool_claim *claim, const char *name,
			CUstream stream, CUmemoryPool pool, size_t bytes);
#define pool_open(claim, stream, pool, bytes) \
	pool_open_from(__builtin_return_address(0), claim, __func__, stream, pool, bytes)
CUresult pool_close(struct pool_claim *claim, CUresult rc, const CUdeviceptr *dptr);
/* Is this very stream being captured? Then a call makes a node, and takes and frees nothing. */
bool pool_makes_node(CUstream stream);

/* After the driver made a pool, or trimmed one. */
void pool_made(CUmemoryPool pool, const CUmemPoolProps *props);
/* The driver is asked in the turn of the pools: none may be asked about while it ends. What blocks
 * of it hold stays charged until they are freed. */
CUresult pool_end(CUmemoryPool pool);

/*
 * Around a call after which pools may have shrunk: one that waits for a stream, an event or a
 * context, or a trim.
 *
 *	const bool moving = pool_wait();
 *
 *	return pool_waited(moving, real.cuEventSynchronize(event));
 */
extern uint32_t pool_watched; /* there is something that could change */
static inline bool pool_wait(void)
{
	return __builtin_expect(__atomic_load_n(&pool_watched, __ATOMIC_RELAXED), 0) &&
	       quiet_move();
}
void pool_look(void);
static inline CUresult pool_waited(bool moving, CUresult rc)
{
	if (__builtin_expect(__atomic_load_n(&pool_watched, __ATOMIC_RELAXED), 0))
		pool_look();
	quiet_moved(moving);
	return rc;
}

/* Before a refusal: has pools give back what they do not use. Did one? */
bool pool_relieve(const struct device *device);

/*
 * Around a free. What a pool gave goes back to the pool, and is refunded here if that has ended.
 *
 *	pool_free_open(&block, dptr);
 *	rc = real.cuMemFreeAsync(dptr, stream);
 *	return pool_free_close(&block, rc);
 */
struct pool_block {
	CUmemoryPool pool; /* NULL: none gave it */
	size_t bytes;	   /* of an ended pool's */
};
void pool_free_open(struct pool_block *block, CUdeviceptr pointer);
CUresult pool_free_close(const struct pool_block *block, CUresult rc);
/* How many pools have ended that still have blocks. */
extern uint32_t pool_ended;

/*
 * What cuMemAlloc gave and a stream frees: refunded when the stream has passed the free, as far as
 * that is seen.
 */
int order_start(void);
void order_freed(CUdeviceptr pointer, CUstream stream);
/* A stream was waited for; or the current context, and so all of its device's. */
void order_passed(CUstream stream);
void order_passed_all(void);

/*
 * Of pool.c, for pool_claim.c: what is known of one pool, under pool_lock.
 */
struct pool_entry {
	CUmemoryPool pool;
	uint64_t used;	 /* by blocks of an ended one */
	uint32_t units;	 /* charged */
	uint32_t claims; /* open */
	uint8_t device, seat;
	bool charged; /* it lies on a device of ours */
	bool ended;
};
int pool_lock(void);
void pool_unlock(int cancel);
/* The pool's entry; NULL: unknown. */
struct pool_entry *pool_find(CUmemoryPool pool);
/* One is made; NULL: no memory. */
struct pool_entry *pool_add(CUmemoryPool pool, const struct device *device);
/*
 * Brings the charge to what is reserved. Of `spare` units, which are charged already under `seat`,
 * as many as it takes are the pool's now; returns those. What else was reserved is charged whatever
 * the limit.
 */
uint32_t pool_settle(struct pool_entry *entry, uint8_t seat, uint32_t spare);
/* Bytes that a pool has reserved and does not use. */
uint64_t pool_unused(CUmemoryPool pool);

#endif
