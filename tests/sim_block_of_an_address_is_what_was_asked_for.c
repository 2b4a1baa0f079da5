/*
 * An address anywhere in a block names that block, to the byte that was asked for, under an id of
 * its own, whatever lies beside it; the end of a context takes its own blocks and no others.
 */
#include "sim_driver.h"

enum { BLOCKS = 400 };

struct known {
	CUdeviceptr at;
	size_t bytes;
	uint64_t id;
};

static uint64_t id_of(const CUdeviceptr at)
{
	unsigned long long id = 0;

	CHECK_EQ(cu.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at), CUDA_SUCCESS);
	return id;
}

static void is_at(const struct known *k, const CUdeviceptr at)
{
	CUdeviceptr base;
	size_t bytes;

	CHECK_EQ(cu.cuMemGetAddressRange_v2(&base, &bytes, at), CUDA_SUCCESS);
	CHECK_EQ(base, k->at);
	CHECK_EQ(bytes, k->bytes);
	CHECK_EQ(id_of(at), k->id);
}

static void is_whole(const struct known *k)
{
	CUdeviceptr base;
	size_t bytes;

	is_at(k, k->at);
	is_at(k, k->at + k->bytes / 2);
	is_at(k, k->at + k->bytes - 1);
	if (k->bytes % 512)
		CHECK_EQ(cu.cuMemGetAddressRange_v2(&base, &bytes, k->at + k->bytes),
			 CUDA_ERROR_NOT_FOUND);
}

static struct known make(const int i)
{
	/* Whole units and odd ones, within a word of the map and over several, grains and more. */
	static const size_t sizes[] = {1, 512, 513, 3584, 4096, 5000, 40000, 65536,
				       300001, 1 << 20, 3 << 20};
	struct known k = {.bytes = sizes[i % 11]};

	CHECK_EQ(cu.cuMemAlloc_v2(&k.at, k.bytes), CUDA_SUCCESS);
	k.id = id_of(k.at);
	return k;
}

static int body(void *grain)
{
	struct known k[BLOCKS];
	CUcontext first, second;
	CUdeviceptr own[2];
	int64_t held;
	int i, j;

	setenv("SIMGPU_GRAIN", grain, 1);
	driver_start("a");
	CHECK_EQ(cu.cuCtxGetCurrent(&first), CUDA_SUCCESS);
	for (i = 0; i < BLOCKS; i++)
		k[i] = make(i);
	for (i = 0; i < BLOCKS; i++) {
		is_whole(&k[i]);
		for (j = 0; j < i; j++)
			CHECK(k[i].id != k[j].id);
	}
	for (i = 0; i < BLOCKS; i += 3) /* their places go to others */
		CHECK_EQ(cu.cuMemFree_v2(k[i].at), CUDA_SUCCESS);
	for (i = 0; i < BLOCKS; i += 3)
		k[i] = make(i + 5);
	for (i = 0; i < BLOCKS; i++)
		is_whole(&k[i]);
	held = truth_held(NULL, 0, "a");
	CHECK_EQ(cu.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&own[0], 700), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&own[1], 5 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxDestroy_v2(second), CUDA_SUCCESS);
	CHECK_EQ(cu.cuCtxSetCurrent(first), CUDA_SUCCESS);
	CHECK_EQ(truth_held(NULL, 0, "a"), held);
	for (i = 0; i < 2; i++)
		CHECK_EQ(cu.cuMemFree_v2(own[i]), CUDA_ERROR_INVALID_VALUE);
	for (i = 0; i < BLOCKS; i++) {
		is_whole(&k[i]);
		CHECK_EQ(cu.cuMemFree_v2(k[i].at), CUDA_SUCCESS);
	}
	return 0;
}

int main(void)
{
	static char grains[][5] = {"2M", "64K", "4K", "none"};
	unsigned int i;

	one_card("24G");
	for (i = 0; i < sizeof(grains) / sizeof(grains[0]); i++) {
		struct client c = client_fork(body, grains[i]);

		if (client_wait(&c, DEADLINE_MS))
			FAIL("with grains of %s", grains[i]);
	}
	return 0;
}
