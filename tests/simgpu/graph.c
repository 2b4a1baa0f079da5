/*
 * Graphs and their nodes; see graph.h.
 */
#include "graph.h"
#include "pool.h"

struct graph *graph_get(const CUgraph graph)
{
	return handle_get(graph, KIND_GRAPH);
}

CUresult graph_new(CUgraph *graph)
{
	struct graph *const made = handle_new(KIND_GRAPH);

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->last = &made->first;
	*graph = (CUgraph)made;
	return CUDA_SUCCESS;
}

static CUresult add(const CUgraph graph, const CUgraphNodeType type, struct node **added,
		    CUgraphNode *handle)
{
	struct graph *const to = graph_get(graph);
	struct node *const node = to ? handle_new(KIND_NODE) : NULL;

	if (!to || !node)
		return to ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	node->graph = to;
	node->type = type;
	*to->last = node;
	to->last = &node->next;
	to->nodes++;
	*added = node;
	if (handle)
		*handle = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult graph_add_alloc(const CUgraph graph, const unsigned int card, const size_t bytes,
			 CUdeviceptr *at, CUgraphNode *handle)
{
	struct node *node;
	CUresult rc;

	if (!bytes || !graph_get(graph))
		return CUDA_ERROR_INVALID_VALUE;
	rc = pool_node_new(pool_of_graphs(card), bytes, at);
	if (!rc)
		rc = add(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &node, handle);
	if (rc)
		return rc;
	node->alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	node->alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	node->alloc.poolProps.location.id = device_of_card(card);
	node->alloc.bytesize = bytes;
	node->alloc.dptr = *at;
	return CUDA_SUCCESS;
}

CUresult graph_add_free(const CUgraph graph, const CUdeviceptr at, CUgraphNode *handle)
{
	struct node *node;
	const CUresult rc = add(graph, CU_GRAPH_NODE_TYPE_MEM_FREE, &node, handle);

	if (!rc)
		node->alloc.dptr = at;
	return rc;
}

CUAPI(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), (phGraph, flags))
{
	return phGraph && !flags ? graph_new(phGraph) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuGraphDestroy, (CUgraph hGraph), (hGraph))
{
	struct graph *const graph = graph_get(hGraph);
	struct node *node, *next;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	for (node = graph->first; node; node = next) {
		next = node->next;
		/* Executables made of it keep its addresses. */
		handle_drop(node, KIND_NODE);
	}
	handle_drop(graph, KIND_GRAPH);
	return CUDA_SUCCESS;
}

static CUresult add_alloc(CUgraphNode *phGraphNode, CUgraph hGraph, const CUmemLocation *location,
			  size_t bytesize, CUdeviceptr *dptr)
{
	unsigned int card;

	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || device_card(location->id, &card))
		return CUDA_ERROR_INVALID_VALUE;
	return graph_add_alloc(hGraph, card, bytesize, dptr, phGraphNode);
}

CUAPI(cuGraphAddMemAllocNode,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams),
      (phGraphNode, hGraph, dependencies, numDependencies, nodeParams))
{
	if (!phGraphNode || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	return add_alloc(phGraphNode, hGraph, &nodeParams->poolProps.location, nodeParams->bytesize,
			 &nodeParams->dptr);
}

CUAPI(cuGraphAddMemFreeNode,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       size_t numDependencies, CUdeviceptr dptr),
      (phGraphNode, hGraph, dependencies, numDependencies, dptr))
{
	return phGraphNode ? graph_add_free(hGraph, dptr, phGraphNode) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult add_any(CUgraphNode *phGraphNode, CUgraph hGraph, CUgraphNodeParams *params)
{
	struct node *node;

	if (!phGraphNode || !params)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)params->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return add_alloc(phGraphNode, hGraph, &params->alloc.poolProps.location,
				 params->alloc.bytesize, &params->alloc.dptr);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return graph_add_free(hGraph, params->free.dptr, phGraphNode);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return add(hGraph, params->type, &node, phGraphNode);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUAPI(cuGraphAddEmptyNode,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       size_t numDependencies),
      (phGraphNode, hGraph, dependencies, numDependencies))
{
	struct node *node;

	return phGraphNode ? add(hGraph, CU_GRAPH_NODE_TYPE_EMPTY, &node, phGraphNode)
			   : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuGraphAddNode,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       size_t numDependencies, CUgraphNodeParams *nodeParams),
      (phGraphNode, hGraph, dependencies, numDependencies, nodeParams))
{
	return add_any(phGraphNode, hGraph, nodeParams);
}

CUAPI(cuGraphAddNode_v2,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *dependencyData, size_t numDependencies,
       CUgraphNodeParams *nodeParams),
      (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams))
{
	return add_any(phGraphNode, hGraph, nodeParams);
}

CUAPI(cuGraphAddNode_v3,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *dependencyData, size_t numDependencies,
       CUgraphNodeParams *nodeParams),
      (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams))
{
	return add_any(phGraphNode, hGraph, nodeParams);
}

CUAPI(cuGraphGetNodes, (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes),
      (hGraph, nodes, numNodes))
{
	const struct graph *const graph = graph_get(hGraph);
	const struct node *node;
	size_t n = 0;

	if (!graph || !numNodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (node = graph->first; nodes && node && n < *numNodes; node = node->next)
		nodes[n++] = (CUgraphNode)(uintptr_t)node;
	for (; nodes && n < *numNodes; n++)
		nodes[n] = NULL;
	*numNodes = nodes ? *numNodes < graph->nodes ? *numNodes : graph->nodes : graph->nodes;
	return CUDA_SUCCESS;
}

CUAPI(cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType *type), (hNode, type))
{
	const struct node *const node = handle_get(hNode, KIND_NODE);

	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}

CUAPI(cuGraphMemAllocNodeGetParams, (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out),
      (hNode, params_out))
{
	const struct node *const node = handle_get(hNode, KIND_NODE);

	if (!node || !params_out || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return CUDA_ERROR_INVALID_VALUE;
	*params_out = node->alloc;
	return CUDA_SUCCESS;
}

CUAPI(cuGraphMemFreeNodeGetParams, (CUgraphNode hNode, CUdeviceptr *dptr_out), (hNode, dptr_out))
{
	const struct node *const node = handle_get(hNode, KIND_NODE);

	if (!node || !dptr_out || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr_out = node->alloc.dptr;
	return CUDA_SUCCESS;
}
