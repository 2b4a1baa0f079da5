/*
 * Managed memory counts in full and may exceed the card: what is committed then is more than
 * what is resident, other memory is refused, and when the excess is freed or its process
 * killed the card is as it was.
 */
#include "sim_driver.h"

static int64_t committed(void)
{
	return truth_held(NULL, 0, "a");
}

static int body(void *arg)
{
	CUdeviceptr p, q, r;

	driver_start("a");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 256 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAllocManaged(&q, 3 * GIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	CHECK_EQ(committed(), 3 * GIB + 256 * MIB);
	CHECK_EQ(truth_resident(NULL, 0), GIB);
	CHECK_EQ(cu.cuMemAlloc_v2(&r, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	CHECK_EQ(committed(), 256 * MIB);
	CHECK_EQ(truth_resident(NULL, 0), 256 * MIB);
	CHECK_EQ(truth_max(NULL, 0, "a"), 3 * GIB + 256 * MIB);
	CHECK_EQ(cu.cuMemAlloc_v2(&r, 770 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuMemAlloc_v2(&r, 768 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAllocManaged(&q, 3 * GIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	raise(SIGKILL);
	return 0;
}

static int after(void *arg)
{
	CUdeviceptr p;

	driver_start("b");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, GIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, GIB), CUDA_SUCCESS);
	return 0;
}

int main(void)
{
	struct client c;

	one_card("1G");
	c = client_fork(body, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 128 + SIGKILL);
	CHECK_EQ(committed(), 0);
	c = client_fork(after, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
