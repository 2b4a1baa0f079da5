/*
 * A grain and more is rounded up to grains; smaller requests share one, which is paid by the
 * first and given back with the last. SIMGPU_GRAIN sets another size or none,
 * SIMGPU_SMALL=keep keeps an emptied grain.
 */
#include "sim_driver.h"

static int64_t held(void)
{
	return truth_held(NULL, 0, "a");
}

static CUdeviceptr alloc(const size_t bytes)
{
	CUdeviceptr p;

	CHECK_EQ(cu.cuMemAlloc_v2(&p, bytes), CUDA_SUCCESS);
	CHECK_EQ(p % 512, 0);
	return p;
}

static int ordinary(void *arg)
{
	CUdeviceptr p[6000], base;
	size_t bytes, pitch;
	int i;

	driver_start("a");
	p[0] = alloc(2 * MIB);
	CHECK_EQ(held(), 2 * MIB);
	p[1] = alloc(2 * MIB + 1);
	CHECK_EQ(held(), 6 * MIB);
	p[2] = alloc(1);
	CHECK_EQ(held(), 8 * MIB);
	p[3] = alloc(MIB);
	p[4] = alloc(MIB - 1024);
	CHECK_EQ(held(), 8 * MIB); /* all three in one */
	p[5] = alloc(1024);
	CHECK_EQ(held(), 10 * MIB);
	CHECK_EQ(cu.cuMemGetAddressRange_v2(&base, &bytes, p[3] + 4096), CUDA_SUCCESS);
	CHECK_EQ(base, p[3]);
	CHECK_EQ(bytes, MIB);
	CHECK_EQ(cu.cuMemGetAddressRange_v2(&base, &bytes, p[1] + 2 * MIB), CUDA_SUCCESS);
	CHECK_EQ(base, p[1]);
	CHECK_EQ(bytes, 2 * MIB + 1);
	CHECK_EQ(cu.cuMemFree_v2(p[3] + 512), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemFree_v2(p[1] + 2 * MIB), CUDA_ERROR_INVALID_VALUE);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(cu.cuMemFree_v2(p[i]), CUDA_SUCCESS);
		CHECK_EQ(cu.cuMemFree_v2(p[i]), CUDA_ERROR_INVALID_VALUE);
	}
	CHECK_EQ(held(), 0);
	CHECK_EQ(cu.cuMemFree_v2(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&base, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemAlloc_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cu.cuMemAllocPitch_v2(&base, &pitch, 1000, 4096, 4), CUDA_SUCCESS);
	CHECK_EQ(pitch, 1024);
	CHECK_EQ(held(), 4 * MIB);
	CHECK_EQ(cu.cuMemFree_v2(base), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAllocManaged(&base, 3 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	CHECK_EQ(held(), 4 * MIB);
	CHECK_EQ(cu.cuMemFree_v2(base), CUDA_SUCCESS);
	/* Many of all sizes, freed in another order: nothing is lost and nothing overlaps. */
	for (i = 0; i < 6000; i++) {
		p[i] = alloc(i * 37 % 5000 + 4);
		CHECK_EQ(cu.cuMemsetD32_v2(p[i], (unsigned)i, 1), CUDA_SUCCESS);
	}
	for (i = 0; i < 6000; i++) {
		const int k = i * 4999 % 6000;

		CHECK_EQ(*(unsigned *)p[k], k);
		CHECK_EQ(cu.cuMemFree_v2(p[k]), CUDA_SUCCESS);
	}
	CHECK_EQ(held(), 0);
	return 0;
}

static int fine(void *arg)
{
	setenv("SIMGPU_GRAIN", "64K", 1);
	driver_start("a");
	alloc(64 * 1024 + 1);
	CHECK_EQ(held(), 128 * 1024);
	alloc(5);
	alloc(50000);
	CHECK_EQ(held(), 192 * 1024);
	return 0;
}

static int none(void *arg)
{
	CUdeviceptr p;

	setenv("SIMGPU_GRAIN", "none", 1);
	driver_start("a");
	alloc(1);
	alloc(513);
	CHECK_EQ(held(), 3 * 512);
	p = alloc(3 * MIB + 1);
	CHECK_EQ(held(), 3 * MIB + 4 * 512);
	CHECK_EQ(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	CHECK_EQ(held(), 3 * 512);
	return 0;
}

static int keep(void *arg)
{
	CUdeviceptr p;

	setenv("SIMGPU_SMALL", "keep", 1);
	driver_start("a");
	p = alloc(100);
	CHECK_EQ(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	CHECK_EQ(held(), 2 * MIB);
	alloc(100);
	CHECK_EQ(held(), 2 * MIB);
	return 0;
}

/* The 32-bit entry points give addresses that fit. */
static int narrow(void *arg)
{
	unsigned int f, t;
	CUdeviceptr_v1 p;

	driver_start("a");
	CHECK_EQ(cu.cuMemAlloc(&p, 3 * MIB), CUDA_SUCCESS);
	CHECK_EQ(held(), 4 * MIB);
	CHECK_EQ(cu.cuMemsetD8_v2(p, 7, 3 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemGetInfo(&f, &t), CUDA_SUCCESS);
	CHECK_EQ(t, 0xffffffffU);
	CHECK_EQ(cu.cuMemFree(p), CUDA_SUCCESS);
	CHECK_EQ(held(), 0);
	return 0;
}

int main(void)
{
	int (*const body[])(void *) = {ordinary, fine, none, keep, narrow};
	unsigned int i;

	one_card("24G");
	for (i = 0; i < sizeof(body) / sizeof(body[0]); i++) {
		struct client c = client_fork(body[i], NULL);

		if (client_wait(&c, DEADLINE_MS))
			FAIL("case %u failed", i);
	}
	return 0;
}
