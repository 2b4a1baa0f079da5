/*
 * The way of caching allocators: at the limit an allocation is refused, three blocks are freed, and
 * the same call then succeeds, ten thousand times, in another thread too, and where one thread was
 * refused and another tries again. The refusal leaves nothing behind in the context: launch, copy,
 * fill and synchronisation succeed.
 *
 * report: EC-03
 */
#include "client.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define BLOCK (16 * MIB)
#define BLOCKS 256
#define LOOPS 10000

static CUdeviceptr blocks[BLOCKS];
static unsigned count;
static CUcontext context;
static CUfunction kernel;

static CUresult allocate(size_t bytes)
{
	const CUresult rc = CU(cuMemAlloc_v2)(&blocks[count], bytes);

	count += rc == CUDA_SUCCESS;
	return rc;
}

static void refused(void)
{
	CUcontext current = NULL;
	char text[16];

	CHECK_EQ(allocate(3 * BLOCK), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemcpyHtoD_v2)(blocks[0], "refused", 8), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemcpyDtoH_v2)(text, blocks[0], 8), CUDA_SUCCESS);
	CHECK_STR(text, "refused");
	CHECK_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
	CHECK(current == context);
	CHECK_EQ(CU(cuMemsetD8_v2)(blocks[0], 0, 16), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(CU(cuMemFree_v2)(blocks[--count]), CUDA_SUCCESS);
}

static void try_again(void)
{
	CHECK_EQ(allocate(3 * BLOCK), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(blocks[--count]), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(allocate(BLOCK), CUDA_SUCCESS);
}

static void *other(void *unused)
{
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	try_again();
	refused();
	try_again();
	return unused;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G", "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=24G", NULL};
	pthread_t thread;
	CUmodule module;

	start_capped(argv, env);
	context = context_now(0);
	CHECK_EQ(CU(cuModuleLoadData)(&module, "module"), CUDA_SUCCESS);
	CHECK_EQ(CU(cuModuleGetFunction)(&kernel, module, "kernel"), CUDA_SUCCESS);
	while (allocate(BLOCK) == CUDA_SUCCESS)
		CHECK(count < BLOCKS - 1);
	CHECK_GE(count, 40u);
	for (int i = 0; i < (getenv("TEST_SANITIZER") ? LOOPS / 10 : LOOPS); i++) {
		refused();
		try_again();
	}
	refused();
	CHECK_EQ(pthread_create(&thread, NULL, other, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	return 0;
}
