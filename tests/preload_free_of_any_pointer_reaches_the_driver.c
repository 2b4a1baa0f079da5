/*
 * A pointer that we do not know goes to the driver all the same and its code comes back; only what is ours is refunded.
 *
 * report: EC-02
 */
#include "client.h"

#define MIB (1ull << 20)

static unsigned calls(void)
{
	FILE *const trace = fopen(getenv("SIMGPU_TRACE"), "r");
	unsigned count = 0;
	char line[512];

	CHECK(trace);
	while (fgets(line, sizeof(line), trace))
		count += strstr(line, "cuMemFree_v2") != NULL;
	fclose(trace);
	return count;
}

static void expect(const char *what, CUdeviceptr pointer, CUresult want)
{
	const unsigned before = calls();
	const size_t had = free_now();
	const CUresult rc = CU(cuMemFree_v2)(pointer);

	if (rc != want)
		FAIL("%s: %d, want %d", what, rc, want);
	if (calls() != before + 1)
		FAIL("%s: the driver was called %u times, want once", what, calls() - before);
	if (free_now() != had)
		FAIL("%s: %zu bytes are free, want %zu", what, free_now(), had);
}

int main(int argc, char **argv)
{
	char trace[PATH_MAX];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "SIMGPU_DEVICES=24G", "SIMGPU_FAULT=cuMemFree_v2@2-3:999",
				   trace, NULL};
	CUdeviceptr large, small, gone, mapped;
	size_t before;
	int host;

	snprintf(trace, sizeof(trace), "SIMGPU_TRACE=%s/trace", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	start_capped(argv, env);
	context_now(0);
	before = free_now();
	CHECK_EQ(CU(cuMemAlloc_v2)(&large, 64 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&small, 4096), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&gone, 8 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(gone), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAddressReserve)(&mapped, 2 * MIB, 0, 0, 0), CUDA_SUCCESS);

	expect("a large block, and the driver fails", large, CUDA_ERROR_UNKNOWN);
	expect("a small block, and the driver fails", small, CUDA_ERROR_UNKNOWN);
	expect("nothing", 0, CUDA_SUCCESS);
	expect("freed already", gone, CUDA_ERROR_INVALID_VALUE);
	expect("inside a large block", large + 4096, CUDA_ERROR_INVALID_VALUE);
	expect("inside a small block", small + 512, CUDA_ERROR_INVALID_VALUE);
	expect("the program's own memory", (CUdeviceptr)(uintptr_t)&host, CUDA_ERROR_INVALID_VALUE);
	expect("an address that holds nothing", mapped, CUDA_ERROR_INVALID_VALUE);
	expect("garbage", 0xdeadbeef123, CUDA_ERROR_INVALID_VALUE);

	CHECK_EQ(CU(cuMemFree_v2)(large), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(small), CUDA_SUCCESS);
	CHECK_EQ(free_now(), before);
	return 0;
}
