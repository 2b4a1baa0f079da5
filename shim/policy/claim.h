/*
 * One allocation in flight, and one free. Owns: charging before the driver is asked, settling
 *after, undoing what took more than was granted, the explanation of a refusal, and the only mapping
 *of -errno to CUresult. Promise: a failed driver call leaves ledger and tables as they were (I4);
 *`*dptr` is read only on success; nothing is held while the driver runs. A wrapper reads:
 *
 *	CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytes)
 *	{
 *		struct claim claim;
 *		CUresult rc = claim_open(&claim, FAMILY_LINEAR, device_current(), bytes);
 *
 *		if (rc != CUDA_SUCCESS)
 *			return rc;
 *		do
 *			rc = real.cuMemAlloc_v2(dptr, bytes);
 *		while (claim_again(&claim, rc));
 *		return claim_close(&claim, rc, dptr);
 *	}
 */
#ifndef POLICY_CLAIM_H
#define POLICY_CLAIM_H

#include "policy/quiet.h"
#include "policy/state.h"

enum family {
	FAMILY_LINEAR = CUQUOTA_LINEAR,
	FAMILY_MANAGED = CUQUOTA_MANAGED,
	FAMILY_ARRAY = CUQUOTA_ARRAY,
	FAMILY_POOL = CUQUOTA_POOL,
	FAMILY_VMM = CUQUOTA_VMM,
	FAMILY_GRAPH = CUQUOTA_GRAPH,
	FAMILY_CONTEXT = CUQUOTA_CONTEXT,
	FAMILY_MODULE = CUQUOTA_MODULE,
};

struct claim {
	const struct device *device; /* NULL: nothing is charged */
	size_t bytes;		     /* what it was opened or settled for */
	uint64_t epoch;		     /* of block.h, when it was opened */
	uint64_t until_ns;	     /* of trying again */
	uint32_t units;		     /* charged, but for tokens */
	uint32_t context;	     /* serial of the context, see context.h */
	int cancel;		     /* while the spare grain is held */
	uint8_t family;
	uint8_t seat;	/* which joining the charge belongs to */
	uint8_t tokens; /* grains charged for a small request, see extent.h */
	bool small;
	bool spare;  /* holds the spare grain */
	bool noted;  /* its tokens are those of process_thread */
	bool aside;  /* this process is not capped */
	bool excess; /* took more than could be charged: is undone */
	bool moving;
};

/* `caller`: what the hook returns to, see process.h; so in all that begin a call of ours. */
CUresult claim_open_from(const void *caller, struct claim *claim, enum family family,
			 const struct device *device, size_t bytes);
/*
 * Charge an allocation of `bytes` before the driver is asked for it. CUDA_SUCCESS, or the code to
 * return: CUDA_ERROR_OUT_OF_MEMORY when refused (explained on one line), CUDA_ERROR_NOT_PERMITTED.
 * Without a device the driver is to be asked all the same, so that its own code is returned.
 */
static inline __attribute__((always_inline)) CUresult
claim_open(struct claim *claim, enum family family, const struct device *device, size_t bytes)
{
	return claim_open_from(__builtin_return_address(0), claim, family, device, bytes);
}

/* Is the driver to be asked again? Only when it refused for want of memory that a dead process has
 * just left. */
bool claim_again_slow(struct claim *claim);
static inline bool claim_again(struct claim *claim, CUresult rc)
{
	return __builtin_expect(rc == CUDA_ERROR_OUT_OF_MEMORY, 0) && claim_again_slow(claim);
}

/* After success and before claim_close: it took `bytes`, where the claim was only an upper bound.
 */
void claim_settle(struct claim *claim, size_t bytes);
/* Record the block, or refund. Returns the code for the caller. */
CUresult claim_close(struct claim *claim, CUresult rc, const CUdeviceptr *dptr);

/* One free of a pointer. Between the two the driver is asked: the code of its call goes to
 * release_close. */
struct release {
	CUdeviceptr pointer;
	const struct device
		*watched; /* this free teaches whether the driver gives emptied grains back */
	struct quiet quiet;
	uint16_t *at; /* where the block's label is noted, see policy/block_table.h */
	bool ours;    /* this process counts */
	bool moving;
};
void release_open_from(const void *caller, struct release *release, CUdeviceptr pointer);
static inline __attribute__((always_inline)) void release_open(struct release *release,
							       CUdeviceptr pointer)
{
	release_open_from(__builtin_return_address(0), release, pointer);
}
CUresult release_close(struct release *release, CUresult rc);

/* Refund a block that the driver has given back by another way. */
void claim_release(CUdeviceptr pointer);
/* Refund all blocks of an ended context. */
void claim_drop_context(uint32_t serial);

/* For an allocator that is not charged yet: CUDA_SUCCESS where nothing is limited, else the code to
 * return, said once a second at most. `name` is the entry point's. */
CUresult claim_uncharged(const char *name);

/* Bracket of a stream capture, called by the hooks of cuStreamBeginCapture and EndCapture after
 * success: nothing is tried again or measured meanwhile. */
void capture_began(void);
void capture_ended(void);
bool capturing(void);

#endif
