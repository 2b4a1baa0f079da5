/*
 * Allocators that nobody charges yet: refused where anything is limited, with one line that
 * names the call, and left alone elsewhere. What takes no memory of its own (a sparse array, a
 * graph node of another kind) passes, and so does the stack of device code, which most
 * programs that set it need.
 */
#include "policy/claim.h"

/* Device memory of the caller's choice, which the driver takes at a launch. */
static bool grows(CUlimit limit, size_t value)
{
	size_t now;

	return (limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE) &&
	       real.cuCtxGetLimit(&now, limit) == CUDA_SUCCESS && value > now;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	const CUresult rc = grows(limit, value) ? claim_uncharged(__func__) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? real.cuCtxSetLimit(limit, value) : rc;
}

CUresult cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
	const CUresult rc = claim_uncharged(__func__);

	return rc == CUDA_SUCCESS ? real.cuArrayCreate(pHandle, pAllocateArray) : rc;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	const CUresult rc = claim_uncharged(__func__);

	return rc == CUDA_SUCCESS ? real.cuArrayCreate_v2(pHandle, pAllocateArray) : rc;
}

static bool takes_memory(unsigned int flags)
{
	return !(flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
}

CUresult cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
	const bool takes = pAllocateArray && takes_memory(pAllocateArray->Flags);
	const CUresult rc = takes ? claim_uncharged(__func__) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? real.cuArray3DCreate(pHandle, pAllocateArray) : rc;
}

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	const bool takes = pAllocateArray && takes_memory(pAllocateArray->Flags);
	const CUresult rc = takes ? claim_uncharged(__func__) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? real.cuArray3DCreate_v2(pHandle, pAllocateArray) : rc;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
				const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
				unsigned int numMipmapLevels)
{
	const bool takes = pMipmappedArrayDesc && takes_memory(pMipmappedArrayDesc->Flags);
	const CUresult rc = takes ? claim_uncharged(__func__) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS
		       ? real.cuMipmappedArrayCreate(pHandle, pMipmappedArrayDesc, numMipmapLevels)
		       : rc;
}

/* A sparse array keeps what is mapped into it when the handle is released: those
 * references are not counted. */
static bool maps_memory(const CUarrayMapInfo *list, unsigned int count)
{
	for (unsigned int i = 0; list && i < count; i++)
		if (list[i].memOperationType != CU_MEM_OPERATION_TYPE_UNMAP)
			return true;
	return false;
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
	const CUresult rc = maps_memory(mapInfoList, count) ? claim_uncharged(__func__)
							    : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? real.cuMemMapArrayAsync(mapInfoList, count, hStream) : rc;
}

CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
	const CUresult rc = maps_memory(mapInfoList, count) ? claim_uncharged(__func__)
							    : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? real.cuMemMapArrayAsync_ptsz(mapInfoList, count, hStream) : rc;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				const CUgraphNode *dependencies, size_t numDependencies,
				CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	const CUresult rc = claim_uncharged(__func__);

	if (rc != CUDA_SUCCESS)
		return rc;
	return real.cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies,
					   nodeParams);
}

static CUresult node_permits(const CUgraphNodeParams *params, const char *name)
{
	return params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? claim_uncharged(name)
								      : CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	if (rc != CUDA_SUCCESS)
		return rc;
	return real.cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
			   size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	if (rc != CUDA_SUCCESS)
		return rc;
	return real.cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData,
				      numDependencies, nodeParams);
}

CUresult cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
			   size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	if (rc != CUDA_SUCCESS)
		return rc;
	return real.cuGraphAddNode_v3(phGraphNode, hGraph, dependencies, dependencyData,
				      numDependencies, nodeParams);
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	return rc == CUDA_SUCCESS ? real.cuGraphNodeSetParams(hNode, nodeParams) : rc;
}

CUresult cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	return rc == CUDA_SUCCESS ? real.cuGraphNodeSetParams_v2(hNode, nodeParams) : rc;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				  CUgraphNodeParams *nodeParams)
{
	const CUresult rc = node_permits(nodeParams, __func__);

	return rc == CUDA_SUCCESS ? real.cuGraphExecNodeSetParams(hGraphExec, hNode, nodeParams)
				  : rc;
}
