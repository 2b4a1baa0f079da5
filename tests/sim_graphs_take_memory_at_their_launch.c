/*
 * Graph memory: a node has its address when it is made and memory from a launch on; the card's
 * graph pool keeps what was freed until it is trimmed. Captured allocations are such nodes. What
 * would wait for a captured stream ends its capture.
 */
#include "client.h"
#include "simgpu/truth.h"

#define MIB (1024 * 1024LL)
#define STEP (48 * MIB)

static CUdevice device;

static int64_t held(void)
{
	return truth_held(NULL, 0, "");
}

static void expect(long long reserved, long long used)
{
	cuuint64_t value = 0;

	CHECK_EQ(CU(cuDeviceGetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
						  &value),
		 CUDA_SUCCESS);
	CHECK_EQ(value, reserved);
	CHECK_EQ(CU(cuDeviceGetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
						  &value),
		 CUDA_SUCCESS);
	CHECK_EQ(value, used);
	CHECK_EQ(held(), reserved);
}

static CUDA_MEM_ALLOC_NODE_PARAMS node_of(size_t bytes)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
		.bytesize = bytes};
}

static void of_nodes(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = node_of(64 * MIB), seen;
	CUgraphNode node, freeing, nodes[4];
	CUgraphNodeType type;
	CUgraphExec exec, freer, again;
	CUgraph graph, second;
	size_t count = 4;

	CHECK_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphCreate)(&second, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphAddMemAllocNode)(&node, graph, NULL, 0, &params), CUDA_SUCCESS);
	CHECK(params.dptr);
	CHECK_EQ(CU(cuGraphAddMemFreeNode)(&freeing, second, NULL, 0, params.dptr), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphGetNodes)(graph, NULL, &count), CUDA_SUCCESS);
	CHECK_EQ(count, 1);
	CHECK_EQ(CU(cuGraphGetNodes)(graph, nodes, &count), CUDA_SUCCESS);
	CHECK(nodes[0] == node);
	CHECK_EQ(CU(cuGraphNodeGetType)(node, &type), CUDA_SUCCESS);
	CHECK_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	CHECK_EQ(CU(cuGraphMemAllocNodeGetParams)(node, &seen), CUDA_SUCCESS);
	CHECK_EQ(seen.bytesize, 64 * MIB);
	CHECK_EQ(seen.dptr, params.dptr);
	CHECK_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphInstantiateWithFlags)(&freer, second, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphInstantiateWithFlags)(&again, graph,
						 CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
		 CUDA_SUCCESS);
	expect(0, 0);
	CHECK_NE(CU(cuMemsetD8_v2)(params.dptr, 1, 1), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphLaunch)(exec, NULL), CUDA_SUCCESS);
	expect(2 * STEP, 64 * MIB);
	CHECK_EQ(CU(cuMemsetD8_v2)(params.dptr, 1, 64 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphLaunch)(exec, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(CU(cuGraphLaunch)(again, NULL), CUDA_SUCCESS);
	expect(2 * STEP, 64 * MIB);
	CHECK_EQ(CU(cuGraphLaunch)(freer, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
	expect(2 * STEP, 0);
	CHECK_EQ(CU(cuGraphLaunch)(exec, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFreeAsync)(params.dptr, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphLaunch)(exec, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(params.dptr), CUDA_SUCCESS);
	expect(2 * STEP, 0);
	CHECK_EQ(CU(cuDeviceGraphMemTrim)(device), CUDA_SUCCESS);
	expect(0, 0);
	CHECK_EQ(CU(cuGraphLaunch)(exec, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(params.dptr), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGraphMemTrim)(device), CUDA_SUCCESS);
	expect(0, 0);
}

static void of_a_capture(void)
{
	CUstreamCaptureStatus status;
	CUdeviceptr a, b, linear;
	CUstream stream;
	CUgraphExec exec;
	CUgraph graph;

	CHECK_EQ(CU(cuStreamCreate)(&stream, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuStreamBeginCapture_v2)(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 10 * MIB, stream), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocAsync)(&b, 10 * MIB, stream), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFreeAsync)(a, stream), CUDA_SUCCESS);
	CHECK_EQ(CU(cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(CU(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
	expect(0, 0);
	CHECK_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
	expect(STEP, 10 * MIB);
	CHECK_EQ(CU(cuMemFreeAsync)(b, stream), CUDA_SUCCESS);
	/* One that does not fit takes nothing. */
	CHECK_EQ(CU(cuMemAlloc_v2)(&linear, 1024 * MIB - STEP), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGraphMemTrim)(device), CUDA_SUCCESS);
	CHECK_EQ(held(), 1024 * MIB - STEP);
	CHECK_EQ(CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocAsync)(&a, 10 * MIB, stream), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAllocAsync)(&b, 40 * MIB, stream), CUDA_SUCCESS);
	CHECK_EQ(CU(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuGraphLaunch)(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuDeviceGraphMemTrim)(device), CUDA_SUCCESS);
	CHECK_EQ(held(), 1024 * MIB - STEP);
	/* What would wait is refused, and nothing comes of the capture. */
	CHECK_EQ(CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
	CHECK_EQ(CU(cuStreamSynchronize)(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(CU(cuStreamEndCapture)(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(!graph);
}

int main(void)
{
	setenv("SIMGPU_DEVICES", "1G", 1);
	setenv("SIMGPU_CONTEXT", "0", 1);
	setenv("SIMGPU_POOL_STEP", "48M", 1);
	context_now(0);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	of_nodes();
	of_a_capture();
	return 0;
}
