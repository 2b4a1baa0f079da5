/*
 * Captures begin and end: while one is open nothing is measured, trimmed or tried again. The end is
 * told by the stream's own state, because a capture that was invalidated ends with an error.
 */
#include "policy/claim.h"

static CUresult began(CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		capture_began();
	return rc;
}

CUresult cuStreamBeginCapture(CUstream hStream)
{
	return began(real.cuStreamBeginCapture(hStream));
}

CUresult cuStreamBeginCapture_ptsz(CUstream hStream)
{
	return began(real.cuStreamBeginCapture_ptsz(hStream));
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return began(real.cuStreamBeginCapture_v2(hStream, mode));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	return began(real.cuStreamBeginCapture_v2_ptsz(hStream, mode));
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
				     const CUgraphNode *dependencies,
				     const CUgraphEdgeData *dependencyData, size_t numDependencies,
				     CUstreamCaptureMode mode)
{
	return began(real.cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
						      numDependencies, mode));
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
					  const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData,
					  size_t numDependencies, CUstreamCaptureMode mode)
{
	return began(real.cuStreamBeginCaptureToGraph_ptsz(hStream, hGraph, dependencies,
							   dependencyData, numDependencies, mode));
}

CUresult cuStreamBeginRecaptureToGraph(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
				       CUgraphRecaptureCallback callbackFunc, void *userData)
{
	return began(
		real.cuStreamBeginRecaptureToGraph(hStream, mode, hGraph, callbackFunc, userData));
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream hStream, CUstreamCaptureMode mode,
					    CUgraph hGraph, CUgraphRecaptureCallback callbackFunc,
					    void *userData)
{
	return began(real.cuStreamBeginRecaptureToGraph_ptsz(hStream, mode, hGraph, callbackFunc,
							     userData));
}

static bool is_open(CUresult (*ask)(CUstream, CUstreamCaptureStatus *), CUstream stream)
{
	CUstreamCaptureStatus status;

	return capturing() && ask(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	const bool open = is_open(real.cuStreamIsCapturing, hStream);
	const CUresult rc = real.cuStreamEndCapture(hStream, phGraph);

	if (open && !is_open(real.cuStreamIsCapturing, hStream))
		capture_ended();
	return rc;
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	const bool open = is_open(real.cuStreamIsCapturing_ptsz, hStream);
	const CUresult rc = real.cuStreamEndCapture_ptsz(hStream, phGraph);

	if (open && !is_open(real.cuStreamIsCapturing_ptsz, hStream))
		capture_ended();
	return rc;
}
