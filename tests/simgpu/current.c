/*
 * The stack of current contexts, one for each thread. An entry remembers which context it meant, so
 * that one that was destroyed elsewhere is told apart from its successor in the same place.
 */
#include "current.h"

#include <stdlib.h>

__thread struct entry current_top __attribute__((tls_model("initial-exec"), visibility("hidden")));
static __thread struct entry *below __attribute__((tls_model("initial-exec")));
/* entries, the top included */
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

bool current_is(const struct context *context)
{
	return current_top.context == context && current_top.id == context->handle.id;
}

static void set_current(struct context *context)
{
	current_top.context = context;
	current_top.id = context ? context->handle.id : 0;
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
		below[depth - 1] = current_top;
	}
	depth++;
	current_top.context = context;
	current_top.id = context->handle.id;
	return CUDA_SUCCESS;
}

void current_pop(void)
{
	if (!depth)
		return;
	if (--depth)
		current_top = below[depth - 1];
	else
		current_top.context = NULL;
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
	if (!depth || !current_top.context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (pctx)
		*pctx = (CUcontext)current_top.context;
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
	*pctx = (CUcontext)current_top.context;
	return CUDA_SUCCESS;
}
