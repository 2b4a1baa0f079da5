/*
 * What nobody charges yet is refused under a limit, with one line that names the call, and is the
 * driver's own affair without one. What takes no memory passes in both. The simulated driver
 * answers all of them with a code of its own, so that each row tells who answered.
 */
#include "client.h"

#define CALL(name, ...) (call = #name, rc = (int)CU(name)(__VA_ARGS__), report(call, rc))

static const char *call;
static int rc;

static void report(const char *name, int code)
{
	printf("%s %d\n", name, code);
}

static int child(void)
{
	CUDA_ARRAY_DESCRIPTOR_v1 flat1 = {64, 64, CU_AD_FORMAT_FLOAT, 1};
	CUDA_ARRAY_DESCRIPTOR flat = {64, 64, CU_AD_FORMAT_FLOAT, 1};
	CUDA_ARRAY3D_DESCRIPTOR_v1 cube1 = {64, 64, 64, CU_AD_FORMAT_FLOAT, 1, 0};
	CUDA_ARRAY3D_DESCRIPTOR cube = {64, 64, 64, CU_AD_FORMAT_FLOAT, 1, 0};
	CUDA_ARRAY3D_DESCRIPTOR sparse = {64, 64, 64, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
	CUDA_ARRAY3D_DESCRIPTOR deferred = {64, 64,
					    64, CU_AD_FORMAT_FLOAT,
					    1, CUDA_ARRAY3D_DEFERRED_MAPPING};
	CUDA_MEM_ALLOC_NODE_PARAMS node = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							 .location = {CU_MEM_LOCATION_TYPE_DEVICE,
								      {0}}},
					   .bytesize = 1 << 20};
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	CUarrayMapInfo map = {.memOperationType = CU_MEM_OPERATION_TYPE_MAP};
	CUarrayMapInfo unmap = {.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP};
	CUmipmappedArray levels;
	CUgraphNode graph_node;
	CUgraph graph = NULL;
	CUgreenCtx green;
	CUdeviceptr p;
	CUarray array;

	context_now(0);
	any.alloc.poolProps = node.poolProps;
	any.alloc.bytesize = node.bytesize;
	call = "cuGraphCreate";
	rc = (int)CU(cuGraphCreate)(&graph, 0);

	CALL(cuArrayCreate, &array, &flat1);
	CALL(cuArrayCreate_v2, &array, &flat);
	CALL(cuArray3DCreate, &array, &cube1);
	CALL(cuArray3DCreate_v2, &array, &cube);
	CALL(cuMipmappedArrayCreate, &levels, &cube, 3);
	CALL(cuMemMapArrayAsync, &map, 1, NULL);
	CALL(cuMemMapArrayAsync_ptsz, &map, 1, NULL);
	CALL(cuGraphAddMemAllocNode, &graph_node, graph, NULL, 0, &node);
	CALL(cuGraphAddNode, &graph_node, graph, NULL, 0, &any);
	CALL(cuGraphAddNode_v2, &graph_node, graph, NULL, NULL, 0, &any);
	CALL(cuGraphAddNode_v3, &graph_node, graph, NULL, NULL, 0, &any);
	CALL(cuGraphNodeSetParams, NULL, &any);
	CALL(cuGraphNodeSetParams_v2, NULL, &any);
	CALL(cuGraphExecNodeSetParams, NULL, NULL, &any);
	CALL(cuGreenCtxCreate, &green, NULL, 0, 0);
	printf("pass\n");
	CALL(cuMemAllocAsync, &p, 1 << 20, NULL);
	CALL(cuMemAllocAsync_ptsz, &p, 1 << 20, NULL);
	CALL(cuMemAllocFromPoolAsync, &p, 1 << 20, NULL, NULL);
	CALL(cuMemAllocFromPoolAsync_ptsz, &p, 1 << 20, NULL, NULL);
	CALL(cuArray3DCreate_v2, &array, &sparse);
	CALL(cuArray3DCreate_v2, &array, &deferred);
	CALL(cuMipmappedArrayCreate, &levels, &sparse, 3);
	CALL(cuMemMapArrayAsync, &unmap, 1, NULL);
	CALL(cuMemMapArrayAsync, NULL, 1, NULL);
	CALL(cuArray3DCreate_v2, &array, NULL);
	CALL(cuGraphAddNode, &graph_node, graph, NULL, 0, &empty);
	CALL(cuGraphAddNode_v2, &graph_node, graph, NULL, NULL, 0, NULL);
	CALL(cuGraphExecNodeSetParams, NULL, NULL, &empty);
	return 0;
}

static const char *const answered[] = {
	"cuMemAllocAsync",
	"cuMemAllocAsync_ptsz",
	"cuMemAllocFromPoolAsync",
	"cuMemAllocFromPoolAsync_ptsz",
	"cuArrayCreate",
	"cuArrayCreate_v2",
	"cuArray3DCreate",
	"cuArray3DCreate_v2",
	"cuMipmappedArrayCreate",
	"cuMemMapArrayAsync",
	"cuMemMapArrayAsync_ptsz",
	"cuGraphAddMemAllocNode",
	"cuGraphAddNode",
	"cuGraphAddNode_v2",
	"cuGraphAddNode_v3",
	"cuGraphNodeSetParams",
	"cuGraphNodeSetParams_v2",
	"cuGraphExecNodeSetParams",
	"cuGreenCtxCreate",
};

static struct client start(const char *limit, const char *preload)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	char log[PATH_MAX], fault[2048] = "SIMGPU_FAULT=";
	const char *const env[] = {limit, log, preload, fault, NULL};

	snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/log", getenv("TMPDIR"));
	for (size_t i = 0; i < sizeof(answered) / sizeof(*answered); i++)
		snprintf(fault + strlen(fault), sizeof(fault) - strlen(fault), "%s%s@*:%d",
			 i ? "," : "", answered[i], CUDA_ERROR_LAUNCH_FAILED);
	return client_start(self, env);
}

static long read_log(char *text, size_t size)
{
	char path[PATH_MAX];
	long n;
	int file;

	snprintf(path, sizeof(path), "%s/log", getenv("TMPDIR"));
	file = open(path, O_RDONLY);
	if (file < 0)
		return 0;
	n = read(file, text, size - 1);
	close(file);
	CHECK_GE(n, 0L);
	text[n] = 0;
	return n;
}

int main(int argc, char **argv)
{
	struct client bare, open_ended, capped;
	char want[256], text[8192] = "";
	bool refused = true;
	unsigned rows = 0;
	const char *line;

	if (argc > 1)
		return child();
	bare = start("CUQUOTA_MEMORY_LIMIT", "LD_PRELOAD");
	open_ended = start("CUQUOTA_MEMORY_LIMIT=none", preload_of("libcuquota.so"));
	/* One after the other: the first must have written nothing. */
	while ((line = client_line(&bare, DEADLINE_MS))) {
		snprintf(want, sizeof(want), "%s", line);
		CHECK(!strcmp(want, "pass") || strstr(want, " 719"));
		CLIENT_SAYS(&open_ended, want);
	}
	CHECK_EQ(client_wait(&bare, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&open_ended, DEADLINE_MS), 0);
	if (read_log(text, sizeof(text)))
		FAIL("without a limit it said \"%s\"", text);

	bare = start("CUQUOTA_MEMORY_LIMIT", "LD_PRELOAD");
	capped = start("CUQUOTA_MEMORY_LIMIT=4G", preload_of("libcuquota.so"));
	while ((line = client_line(&bare, DEADLINE_MS))) {
		char name[64];

		snprintf(want, sizeof(want), "%s", line);
		if (!strcmp(want, "pass"))
			refused = false;
		if (refused && sscanf(want, "%63s", name) == 1)
			snprintf(want, sizeof(want), "%s %d", name, CUDA_ERROR_NOT_SUPPORTED);
		CLIENT_SAYS(&capped, want);
		rows++;
	}
	CHECK_EQ(rows, 29u);
	CHECK_EQ(client_wait(&bare, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&capped, DEADLINE_MS), 0);
	/* At most one line a second, so the first call is named at least. */
	CHECK_GE(read_log(text, sizeof(text)), 1L);
	if (!strstr(text, "cuArrayCreate"))
		FAIL("said \"%s\"", text);
	return 0;
}
