/*
 * Contexts and what they cost. Owns: which contexts this process has, the charge of each, the spare
 * grain of each device, and the learning of a context's cost. Promise: each context is charged
 * once, before it is made, however many threads make it; a failed call charges nothing; the end of
 * a context refunds it and all its blocks.
 * One thread at a time makes or drops contexts of one device.
 */
#ifndef POLICY_CONTEXT_H
#define POLICY_CONTEXT_H

#include "policy/state.h"

enum context_call {
	CONTEXT_RETAIN,	 /* cuDevicePrimaryCtxRetain: undone by a release */
	CONTEXT_CREATE,	 /* cuCtxCreate: undone by cuCtxDestroy */
	CONTEXT_RELEASE, /* may drop the primary context: release, reset */
	CONTEXT_DESTROY, /* ends a created one, however often it is attached */
	CONTEXT_DETACH,	 /* takes a reference back, and with the last one ends it */
	CONTEXT_ATTACH,	 /* one reference more: one cuCtxDetach more is needed */
};

struct context_change {
	const struct device *device; /* NULL: nothing to do */
	CUdevice ordinal;
	enum context_call call;
	struct context *context;
	uint32_t units;
	uint32_t spare;
	uint8_t seat;
	bool partial; /* the estimate did not fit: holds what was left */
	bool fresh;   /* nothing was there before: the call may make one */
	bool wants_spare;
	bool moving;
	bool nested;
	int cancel;
	int turn;		/* to learn the cost, see cost.h; -1 */
	struct refusal refusal; /* where partial: why the estimate was refused */
};

/*
 * Before a call that makes a context on `ordinal`. CUDA_SUCCESS or the code to return. After it
 * context_made in every case that context_make succeeded; `context` is read only when rc is
 * CUDA_SUCCESS. It returns the code for the caller: CUDA_ERROR_OUT_OF_MEMORY when the context took
 * more than was left, which is then undone.
 *
 *	rc = context_make(&change, CONTEXT_RETAIN, device);
 *	if (rc == CUDA_SUCCESS)
 *		rc = context_made(&change, real.cuDevicePrimaryCtxRetain(pctx, device), pctx);
 */
CUresult context_make_from(const void *caller, struct context_change *change,
			   enum context_call call, CUdevice ordinal);
static inline __attribute__((always_inline)) CUresult
context_make(struct context_change *change, enum context_call call, CUdevice ordinal)
{
	return context_make_from(__builtin_return_address(0), change, call, ordinal);
}
CUresult context_made(struct context_change *change, CUresult rc, const CUcontext *context);

/* The same around a call that may drop the primary context of `ordinal`. */
void context_release_from(const void *caller, struct context_change *change, CUdevice ordinal);
static inline __attribute__((always_inline)) void context_release(struct context_change *change,
								  CUdevice ordinal)
{
	context_release_from(__builtin_return_address(0), change, ordinal);
}
CUresult context_released(struct context_change *change, CUresult rc);

/* Around cuCtxDestroy and cuCtxDetach of `context`, and cuCtxAttach (NULL: the current one). */
void context_begin_from(const void *caller, struct context_change *change, enum context_call call,
			CUcontext context);
static inline __attribute__((always_inline)) void
context_begin(struct context_change *change, enum context_call call, CUcontext context)
{
	context_begin_from(__builtin_return_address(0), change, call, context);
}
static inline __attribute__((always_inline)) void
context_destroy(struct context_change *change, CUcontext context)
{
	context_begin(change, CONTEXT_DESTROY, context);
}
static inline __attribute__((always_inline)) void
context_detach(struct context_change *change, CUcontext context)
{
	context_begin(change, CONTEXT_DETACH, context);
}
static inline __attribute__((always_inline)) void
context_attach(struct context_change *change)
{
	context_begin(change, CONTEXT_ATTACH, NULL);
}
CUresult context_answered(struct context_change *change, CUresult rc);

/* Serials are 1 to CONTEXT_SERIALS - 1. */
#define CONTEXT_SERIALS (1u << 24)
/* For claims: the serial of the context that device_current found last in this thread. Each context
 * made has its own. */
uint32_t context_serial(void);
/* Of a context that is current on `device`. */
uint32_t context_serial_of(CUcontext handle, const struct device *device);
/* Threads look their contexts up again: one ended, or one that had no serial has one now. */
void current_forget(void);

#endif
