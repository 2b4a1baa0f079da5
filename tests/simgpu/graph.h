/*
 * Graphs, as far as memory goes: nodes that allocate and free, and the graph pool of each card that
 * they draw on.
 *
 * Promises: an alloc node has its address from when it is made, and memory behind it from a launch
 * to the free, by a node of a later launch or by the application; the card's graph pool keeps what
 * was freed until it is trimmed. A launch that finds memory still there is refused, unless it was
 * instantiated to free it first. Nodes run in the order in which they were added.
 */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

#include "sim.h"

struct node {
	struct handle handle;
	struct graph *graph;
	CUgraphNodeType type;
	CUDA_MEM_ALLOC_NODE_PARAMS alloc; /* of MEM_ALLOC; of MEM_FREE only dptr */
	struct node *next;
};

struct graph {
	struct handle handle;
	struct node *first, **last;
	size_t nodes;
};

struct graph *graph_get(CUgraph graph);
CUresult graph_new(CUgraph *graph);
/* Add a node of the kind; `at` is given by the first and taken by the second. */
CUresult graph_add_alloc(CUgraph graph, unsigned int card, size_t bytes, CUdeviceptr *at,
			 CUgraphNode *node);
CUresult graph_add_free(CUgraph graph, CUdeviceptr at, CUgraphNode *node);

#endif
