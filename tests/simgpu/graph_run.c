/*
 * Executables made of graphs, and their launch; see graph.h. What else nodes may do is not run.
 */
#include "graph.h"
#include "pool.h"
#include "stream.h"

#include <stdlib.h>

struct step {
	bool frees;
	CUdeviceptr at;
};

struct exec {
	struct handle handle;
	unsigned long long flags;
	struct step *step;
	size_t steps;
};

static CUresult instantiate(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
	const struct graph *const graph = graph_get(hGraph);
	const struct node *node;
	struct exec *exec;

	if (!phGraphExec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	exec = handle_new(KIND_EXEC);
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	exec->step = calloc(graph->nodes + 1, sizeof(*exec->step));
	for (node = graph->first; exec->step && node; node = node->next)
		if (node->type != CU_GRAPH_NODE_TYPE_EMPTY)
			exec->step[exec->steps++] = (struct step){
				node->type == CU_GRAPH_NODE_TYPE_MEM_FREE, node->alloc.dptr};
	*phGraphExec = (CUgraphExec)exec;
	return exec->step ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuGraphInstantiateWithFlags,
      (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
      (phGraphExec, hGraph, flags))
{
	return instantiate(phGraphExec, hGraph, flags);
}

CUAPI(cuGraphInstantiate,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
       size_t bufferSize),
      (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
{
	return instantiate(phGraphExec, hGraph, 0);
}

CUAPI(cuGraphInstantiate_v2,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
       size_t bufferSize),
      (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
{
	return instantiate(phGraphExec, hGraph, 0);
}

CUAPI(cuGraphInstantiateWithParams,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
      (phGraphExec, hGraph, params))
{
	return params ? instantiate(phGraphExec, hGraph, params->flags) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuGraphExecDestroy, (CUgraphExec hGraphExec), (hGraphExec))
{
	struct exec *const exec = handle_get(hGraphExec, KIND_EXEC);
	size_t i;

	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < exec->steps; i++)
		if (!exec->step[i].frees)
			pool_node_end(exec->step[i].at);
	free(exec->step);
	handle_drop(exec, KIND_EXEC);
	return CUDA_SUCCESS;
}

CUAPI(cuGraphUpload, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream))
{
	unsigned int card;

	return handle_get(hGraphExec, KIND_EXEC) ? stream_card(hStream, &card)
						 : CUDA_ERROR_INVALID_VALUE;
}

static CUresult run(const struct exec *exec)
{
	CUresult rc = CUDA_SUCCESS;
	size_t i;

	for (i = 0; i < exec->steps && !rc; i++)
		rc = exec->step[i].frees ? pool_free(exec->step[i].at)
					 : pool_node_back(exec->step[i].at);
	if (!rc)
		return rc;
	while (--i)
		if (!exec->step[i - 1].frees)
			pool_free(exec->step[i - 1].at);
	return rc;
}

CUAPI(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream))
{
	const struct exec *const exec = handle_get(hGraphExec, KIND_EXEC);
	struct pool_block block;
	unsigned int card;
	CUresult rc;
	size_t i;

	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	rc = stream_card(hStream, &card);
	for (i = 0; !rc && i < exec->steps; i++) {
		if (exec->step[i].frees || !pool_find(exec->step[i].at, &block))
			continue;
		if (!(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
			return CUDA_ERROR_INVALID_VALUE;
		pool_free(exec->step[i].at);
	}
	return rc ? rc : run(exec);
}

CUAPI(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void *value),
      (device, attr, value))
{
	const struct pool *pool;
	unsigned int card;

	if (device_card(device, &card))
		return CUDA_ERROR_INVALID_DEVICE;
	pool = pool_of_graphs(card);
	if (!value || !pool)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = pool->used;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = pool->used_high;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = pool->reserved;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = pool->reserved_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUAPI(cuDeviceGraphMemTrim, (CUdevice device), (device))
{
	unsigned int card;

	if (device_card(device, &card))
		return CUDA_ERROR_INVALID_DEVICE;
	pool_trim(pool_of_graphs(card), 0);
	return CUDA_SUCCESS;
}
