/*
 * Requests below a grain. Owns: their tokens, the use of the spare grain, and what becomes of
 * emptied grains.
 * Promise: every grain that small blocks lie in is paid for before the driver can touch it, by a
 * token or by the spare, which one thread of the process at a time uses; what fits a paid grain is
 * not refused. For claim.c only.
 */
#ifndef POLICY_SMALL_H
#define POLICY_SMALL_H

#include "policy/claim.h"
#include "policy/extent.h"
#include "policy/process.h"

static inline bool small_is(size_t bytes)
{
	return bytes < extent_bytes();
}

/* Units that the tokens of a claim stand for. */
static inline uint32_t small_tokens(const struct claim *claim)
{
	return claim->tokens ? claim->tokens * (uint32_t)(extent_bytes() / CUQUOTA_UNIT) : 0;
}

/*
 * A program may leave a call for good, by a jump out of a signal handler: the tokens of that
 * request stay charged, and are shown from when the thread is seen again. An inner call, in a
 * handler above, looks the same at first, and is told when the outer one ends after all.
 */
void small_left_behind(void);
static inline void small_look_behind(void)
{
	if (__builtin_expect(process_thread.token != 0, 0))
		small_left_behind();
}
/* The tokens of a claim are as they were charged, whatever was made of them meanwhile. */
void small_tokens_end(struct claim *claim);

CUresult small_open(struct claim *claim);
/* 0, -EAGAIN (claim_renew and again), or another error: undo. Settles the tokens. */
int small_enter(struct claim *claim, CUdeviceptr pointer);
/* One more token, also beyond the limit: for a block that cannot be undone. */
void small_force(struct claim *claim);
/* Lets the spare grain go. */
void small_release_spare(struct claim *claim);
static inline void small_finish(struct claim *claim)
{
	if (__builtin_expect(claim->spare, 0))
		small_release_spare(claim);
}

/* A claim that was opened for more turned out small, or the reverse. */
void small_adopt(struct claim *claim);
void small_leave(struct claim *claim);

/* Before a free: the device whose driver can be learned about by it, with the measurement begun;
 * else NULL. */
const struct device *small_watch(uint64_t pointer, bool moving, struct quiet *quiet);
/* After something was learned: refund what no longer needs paying, and stop watching once all is
 * known. */
void small_review(void);

/* Of claim.c. */
int claim_enter(const struct claim *claim, uint64_t pointer);
bool claim_renew(struct claim *claim, CUdeviceptr pointer);
void claim_finish(struct claim *claim);
CUresult claim_fail(struct claim *claim, CUresult rc);
CUresult claim_close_without_device(const struct claim *claim, CUresult rc, void (*undo)(uint64_t),
				    uint64_t handle);

#endif
