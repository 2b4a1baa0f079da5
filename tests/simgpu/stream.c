/*
 * Streams and events. All work is done when a call returns, so every stream is idle and every event
 * has happened; callbacks run at once, in the calling thread. Of what is captured see capture.c.
 */
#include "pool.h"
#include "stream.h"

#include <string.h>
#include <time.h>

struct event {
	struct handle handle;
	unsigned int flags;
	struct timespec at;
	bool recorded;
};

/* NULL, legacy and per-thread are streams of the current context. */
CUresult stream_get(CUstream hStream, struct context **context, struct stream **stream)
{
	CUresult rc = CUDA_SUCCESS;

	*stream = NULL;
	if (!hStream || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD) {
		*context = context_current(&rc);
		return rc;
	}
	*stream = handle_get(hStream, KIND_STREAM);
	if (!*stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*context = (*stream)->context;
	return CUDA_SUCCESS;
}

CUresult stream_card(CUstream hStream, unsigned int *card)
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc)
		*card = context->card;
	return rc;
}

static CUresult stream_check(CUstream hStream)
{
	struct context *context;
	struct stream *stream;

	return stream_get(hStream, &context, &stream);
}

static CUresult stream_new(CUstream *phStream, const unsigned int flags, const int priority)
{
	CUresult rc = CUDA_SUCCESS;
	struct context *const context = context_current(&rc);
	struct stream *stream;

	if (!context)
		return rc;
	if (!phStream || flags & ~1U)
		return CUDA_ERROR_INVALID_VALUE;
	stream = handle_new(KIND_STREAM);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	*phStream = (CUstream)stream;
	return CUDA_SUCCESS;
}

CUAPI(cuStreamCreate, (CUstream * phStream, unsigned int Flags), (phStream, Flags))
{
	return stream_new(phStream, Flags, 0);
}

CUAPI(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
      (phStream, flags, priority))
{
	return stream_new(phStream, flags, priority);
}

CUAPI(cuStreamDestroy_v2, (CUstream hStream), (hStream))
{
	struct stream *const stream = handle_get(hStream, KIND_STREAM);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	handle_drop(stream, KIND_STREAM);
	return CUDA_SUCCESS;
}

CUAPI(cuStreamDestroy, (CUstream hStream), (hStream))
{
	return INNER(cuStreamDestroy_v2)(hStream);
}

CUAPI(cuStreamQuery, (CUstream hStream), (hStream))
{
	return capture_forbids(hStream, stream_check(hStream));
}

CUAPI(cuStreamSynchronize, (CUstream hStream), (hStream))
{
	const CUresult rc = capture_forbids(hStream, stream_check(hStream));

	if (!rc)
		pool_synchronized();
	return rc;
}

CUAPI(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags),
      (hStream, hEvent, Flags))
{
	return handle_get(hEvent, KIND_EVENT) ? stream_check(hStream) : CUDA_ERROR_INVALID_HANDLE;
}

CUAPI(cuStreamGetPriority, (CUstream hStream, int *priority), (hStream, priority))
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc && priority)
		*priority = stream ? stream->priority : 0;
	return rc ? rc : priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamGetFlags, (CUstream hStream, unsigned int *flags), (hStream, flags))
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc && flags)
		*flags = stream ? stream->flags : 0;
	return rc ? rc : flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamGetId, (CUstream hStream, unsigned long long *streamId), (hStream, streamId))
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc && streamId)
		*streamId = stream ? stream->handle.id : context->handle.id;
	return rc ? rc : streamId ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamGetCtx, (CUstream hStream, CUcontext *pctx), (hStream, pctx))
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc && pctx)
		*pctx = (CUcontext)context;
	return rc ? rc : pctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamGetCtx_v2, (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx),
      (hStream, pCtx, pGreenCtx))
{
	if (pGreenCtx)
		*pGreenCtx = NULL;
	return INNER(cuStreamGetCtx)(hStream, pCtx);
}

CUAPI(cuStreamGetDevice, (CUstream hStream, CUdevice *device), (hStream, device))
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (!rc && device)
		*device = device_of_card(context->card);
	return rc ? rc : device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamAddCallback,
      (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
      (hStream, callback, userData, flags))
{
	const CUresult rc = stream_check(hStream);

	if (!rc && callback)
		callback(hStream, CUDA_SUCCESS, userData);
	return rc ? rc : callback ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData))
{
	const CUresult rc = stream_check(hStream);

	if (!rc && fn)
		fn(userData);
	return rc ? rc : fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamAttachMemAsync,
      (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags),
      (hStream, dptr, length, flags))
{
	return stream_check(hStream);
}

CUAPI(cuStreamCopyAttributes, (CUstream dst, CUstream src), (dst, src))
{
	const CUresult rc = stream_check(dst);

	return rc ? rc : stream_check(src);
}

CUAPI(cuStreamGetAttribute, (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value),
      (hStream, attr, value))
{
	const CUresult rc = stream_check(hStream);

	if (!rc && value)
		memset(value, 0, sizeof(*value));
	return rc ? rc : value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamSetAttribute, (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param),
      (hStream, attr, param))
{
	return stream_check(hStream);
}

CUAPI(cuEventCreate, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags))
{
	CUresult rc = CUDA_SUCCESS;
	struct event *event;

	if (!context_current(&rc))
		return rc;
	if (!phEvent || Flags & ~7U)
		return CUDA_ERROR_INVALID_VALUE;
	event = handle_new(KIND_EVENT);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->flags = Flags;
	*phEvent = (CUevent)event;
	return CUDA_SUCCESS;
}

static CUresult record(CUevent hEvent, CUstream hStream)
{
	struct event *const event = handle_get(hEvent, KIND_EVENT);
	const CUresult rc = event ? stream_check(hStream) : CUDA_ERROR_INVALID_HANDLE;

	if (!rc) {
		clock_gettime(CLOCK_MONOTONIC, &event->at);
		event->recorded = true;
	}
	return rc;
}

CUAPI(cuEventRecord, (CUevent hEvent, CUstream hStream), (hEvent, hStream))
{
	return record(hEvent, hStream);
}

CUAPI(cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned int flags),
      (hEvent, hStream, flags))
{
	return record(hEvent, hStream);
}

CUAPI(cuEventQuery, (CUevent hEvent), (hEvent))
{
	return handle_get(hEvent, KIND_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUAPI(cuEventSynchronize, (CUevent hEvent), (hEvent))
{
	if (!handle_get(hEvent, KIND_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	pool_synchronized();
	return CUDA_SUCCESS;
}

CUAPI(cuEventDestroy_v2, (CUevent hEvent), (hEvent))
{
	struct event *const event = handle_get(hEvent, KIND_EVENT);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	handle_drop(event, KIND_EVENT);
	return CUDA_SUCCESS;
}

CUAPI(cuEventDestroy, (CUevent hEvent), (hEvent))
{
	return INNER(cuEventDestroy_v2)(hEvent);
}

CUAPI(cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
      (pMilliseconds, hStart, hEnd))
{
	const struct event *const start = handle_get(hStart, KIND_EVENT),
				 *const end = handle_get(hEnd, KIND_EVENT);

	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!pMilliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	*pMilliseconds = (float)((double)(end->at.tv_sec - start->at.tv_sec) * 1e3 +
				 (double)(end->at.tv_nsec - start->at.tv_nsec) / 1e6);
	return CUDA_SUCCESS;
}

CUAPI(cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
      (pMilliseconds, hStart, hEnd))
{
	return INNER(cuEventElapsedTime_v2)(pMilliseconds, hStart, hEnd);
}
