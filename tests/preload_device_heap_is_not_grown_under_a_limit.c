/*
 * The heap and the print buffer of device code are device memory of the program's choice that no
 * call allocates: under a limit they are not made larger, which is said. Smaller they may be made,
 * and other limits of a context are left alone.
 */
#include "client.h"

#define MIB (1ull << 20)

static int client(bool limited)
{
	const CUresult refused = limited ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
	static const CUlimit sizes[] = {CU_LIMIT_MALLOC_HEAP_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE};
	size_t before, now;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetLimit)(sizes[0], 4096 * MIB), CUDA_ERROR_INVALID_CONTEXT);
	context_now(0);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(CU(cuCtxGetLimit)(&before, sizes[i]), CUDA_SUCCESS);
		CHECK_GE(before, (size_t)MIB);
		CHECK_EQ(CU(cuCtxSetLimit)(sizes[i], before / 2), CUDA_SUCCESS);
		CHECK_EQ(CU(cuCtxSetLimit)(sizes[i], before / 2), CUDA_SUCCESS);
		CHECK_EQ(CU(cuCtxSetLimit)(sizes[i], 4096 * MIB), refused);
		CHECK_EQ(CU(cuCtxGetLimit)(&now, sizes[i]), CUDA_SUCCESS);
		CHECK_EQ(now, limited ? before / 2 : 4096 * MIB);
	}
	CHECK_EQ(CU(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 64 << 10), CUDA_SUCCESS);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "client", NULL};
	const char *const limited[] = {"CUQUOTA_MEMORY_LIMIT=2G", "SIMGPU_DEVICES=24G",
				       "CUQUOTA_TENANT=a", NULL};
	const char *const open[] = {"SIMGPU_DEVICES=24G", "CUQUOTA_TENANT=b", NULL};
	struct client c;

	if (argc > 1)
		return client(getenv("CUQUOTA_MEMORY_LIMIT") != NULL);
	c = client_capped(self, open);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_capped(self, limited);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
