/*
 * Capturing a stream into a graph: allocations and frees in its order become nodes; what waits
 * ends the capture. The legacy stream and the per-thread one cannot be captured here.
 */
#include "graph.h"
#include "stream.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Captures that forbid unsafe calls: to all threads, and to the one that began them. */
static unsigned int global;
static __thread unsigned int own __attribute__((tls_model("initial-exec")));
static uint64_t captures;

static struct stream *captured(CUstream hStream)
{
	struct stream *const stream = handle_get(hStream, KIND_STREAM);

	return stream && stream->captured ? stream : NULL;
}

CUgraph capture_graph(CUstream hStream)
{
	const struct stream *const stream = captured(hStream);

	return stream && !stream->invalid ? stream->captured : NULL;
}

CUresult capture_forbids(CUstream hStream, const CUresult rc)
{
	struct stream *const stream = captured(hStream);

	if (!stream)
		return rc;
	stream->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_forbids_any(const CUresult rc)
{
	return __atomic_load_n(&global, __ATOMIC_RELAXED) || own
		       ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
		       : rc;
}

static CUresult begin(CUstream hStream, CUgraph graph, const CUstreamCaptureMode mode)
{
	struct stream *const stream = handle_get(hStream, KIND_STREAM);
	CUresult rc = CUDA_SUCCESS;

	if (!stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->captured)
		return CUDA_ERROR_ILLEGAL_STATE;
	stream->given = graph;
	if (!graph)
		rc = graph_new(&graph);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	stream->captured = graph;
	stream->invalid = false;
	stream->capture = ++captures;
	stream->mode = mode;
	if (mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
		global++;
	else if (mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
		own++;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUAPI(cuStreamBeginCapture_v2, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode))
{
	return begin(hStream, NULL, mode);
}

CUAPI(cuStreamBeginCapture, (CUstream hStream), (hStream))
{
	return begin(hStream, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUAPI(cuStreamBeginCaptureToGraph,
      (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode),
      (hStream, hGraph, dependencies, dependencyData, numDependencies, mode))
{
	return hGraph ? begin(hStream, hGraph, mode) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), (hStream, phGraph))
{
	struct stream *const stream = captured(hStream);
	bool invalid;

	if (!stream)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&lock);
	invalid = stream->invalid;
	if (phGraph)
		*phGraph = invalid ? NULL : stream->captured;
	if (stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
		global--;
	else if (stream->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own)
		own--;
	stream->captured = NULL;
	pthread_mutex_unlock(&lock);
	return invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static CUresult info(CUstream hStream, CUstreamCaptureStatus *status, cuuint64_t *id,
		     CUgraph *graph)
{
	struct context *context;
	struct stream *stream;
	const CUresult rc = stream_get(hStream, &context, &stream);

	if (rc || !status)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream || !stream->captured)
		return CUDA_SUCCESS;
	*status = stream->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id)
		*id = stream->capture;
	if (graph)
		*graph = stream->captured;
	return CUDA_SUCCESS;
}

CUAPI(cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus),
      (hStream, captureStatus))
{
	return info(hStream, captureStatus, NULL, NULL);
}

CUAPI(cuStreamGetCaptureInfo,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out),
      (hStream, captureStatus_out, id_out))
{
	return info(hStream, captureStatus_out, id_out, NULL);
}

CUAPI(cuStreamGetCaptureInfo_v2,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
       CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out),
      (hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out))
{
	if (numDependencies_out)
		*numDependencies_out = 0;
	return info(hStream, captureStatus_out, id_out, graph_out);
}

CUAPI(cuStreamGetCaptureInfo_v3,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
       CUgraph *graph_out, const CUgraphNode **dependencies_out,
       const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
      (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
       numDependencies_out))
{
	if (numDependencies_out)
		*numDependencies_out = 0;
	return info(hStream, captureStatus_out, id_out, graph_out);
}
