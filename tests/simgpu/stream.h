/*
 * Streams, for those who work in their order: which card one is of, and whether it is captured.
 */
#ifndef SIMGPU_STREAM_H
#define SIMGPU_STREAM_H

#include "sim.h"

struct stream {
	struct handle handle;
	struct context *context;
	unsigned int flags;
	int priority;
	CUgraph captured; /* NULL: nothing is */
	CUgraph given;	  /* the capture adds to this one of the application's */
	bool invalid;	  /* the capture met what it cannot hold */
	uint64_t capture;
	CUstreamCaptureMode mode;
};

/* NULL, legacy and per-thread are streams of the current context, without an object. */
CUresult stream_get(CUstream hStream, struct context **context, struct stream **stream);
CUresult stream_card(CUstream hStream, unsigned int *card);

/* The graph that calls on this stream make nodes of; NULL: they are run. */
CUgraph capture_graph(CUstream hStream);
/* For a call that would wait for the stream: it cannot be captured, and ends the capture. `rc`
 * where it is not. */
CUresult capture_forbids(CUstream hStream, CUresult rc);
/* For a call that may wait for all of a context: forbidden while a stream is captured that forbids
 * it to this thread. */
CUresult capture_forbids_any(CUresult rc);

#endif
