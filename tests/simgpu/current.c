/*
 * The stack of current contexts, one for each thread. An entry remembers which context it meant, so that one that was
 * destroyed elsewhere is told apart from its successor in the same place.
 */
#include "current.h"

#include <stdlib.h>

struct entry {
	struct context *context;
	uint64_t id;
};

static __thread struct entry top __attribute__((tls_model("initial-exec")));
static __thread struct entry *below __attribute__((tls_model("initial-exec")));
static __thread uint32_t depth __attribute__((tls_model("initial-exec"))); /* entries, the top included */

struct context *context_current(CUresult *rc)
{
	struct context *const context = top.context;

	if (!context) {
		*rc = CUDA_ERROR_INVALID_CONTEXT;
		return NULL;
	}
	if (context->handle.kind != KIND_CONTEXT || context->handle.id != top.id) {
		*rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		return NULL;
	}
	return context;
}

bool current_is(const struct context *context)
{
	return top.context == context && top.id == context->handle.id;
}

static void set_current(struct context *context)
{
	top.context = context;
	top.id = context ? context->handle.id : 0;
	if (context && !depth)
		depth = 1;
	if (!context && depth)
		depth--;
}

CUresult current_push(struct context *context)
{
	if (depth) {
		struct entry *const grown = realloc(below, (depth + 1) * sizeof(*below));

		if (!grown)
			return CUDA_ERROR_OUT_OF_MEMORY;
		below = grown;
		below[depth - 1] = top;
	}
	depth++;
	top.context = context;
	top.id = context->handle.id;
	return CUDA_SUCCESS;
}

void current_pop(void)
{
	if (!depth)
		return;
	if (--depth)
		top = below[depth - 1];
	else
		top.context = NULL;
}

CUAPI(cuCtxPushCurrent_v2, (CUcontext ctx), (ctx))
{
	struct context *const context = handle_get(ctx, KIND_CONTEXT);

	return context ? current_push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUAPI(cuCtxPushCurrent, (CUcontext ctx), (ctx))
{
	return INNER(cuCtxPushCurrent_v2)(ctx);
}

CUAPI(cuCtxPopCurrent_v2, (CUcontext *pctx), (pctx))
{
	if (!depth || !top.context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (pctx)
		*pctx = (CUcontext)top.context;
	current_pop();
	return CUDA_SUCCESS;
}

CUAPI(cuCtxPopCurrent, (CUcontext *pctx), (pctx))
{
	return INNER(cuCtxPopCurrent_v2)(pctx);
}

CUAPI(cuCtxSetCurrent, (CUcontext ctx), (ctx))
{
	if (!ctx) {
		current_pop();
		return CUDA_SUCCESS;
	}
	if (!handle_get(ctx, KIND_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	set_current((struct context *)ctx);
	return CUDA_SUCCESS;
}

CUAPI(cuCtxGetCurrent, (CUcontext *pctx), (pctx))
{
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)top.context;
	return CUDA_SUCCESS;
}
