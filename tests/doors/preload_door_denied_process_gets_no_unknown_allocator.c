/*
 * A program whose ledger cannot be had started the driver all the same. An allocator that only a
 * newer driver has is refused to it, as the known ones are.
 */
#include "doors/door.h"

static void client(void)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
	int (*early)(void) = (int (*)(void))dlsym(driver, "cuMemAllocShiny");
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle;

	CHECK(early != NULL);
	CHECK_RC(((__typeof__(&cuInit))dlsym(driver, "cuInit"))(0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_RC(((__typeof__(&cuMemCreate))dlsym(driver, "cuMemCreate"))(&handle, 2 << 20, &prop,
									  0),
		 CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(early(), CUDA_ERROR_NOT_SUPPORTED);
}

int main(int argc, char **argv)
{
	const char *const again[] = {argv[0], "client", NULL};
	char path[PATH_MAX + 32];
	struct client c;

	if (argc == 2) {
		client();
		return 0;
	}
	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("tests/doors/future"));
	c = client_capped(again, (const char *[]){"CUQUOTA_DIR=/nowhere/at/all", path,
						  "SIMGPU_DEVICES=24G", NULL});
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
