/*
 * report: CR-03
 * A collective library starts with host memory by handle before there is any context: no crash, the
 * bare driver's codes, and nothing charged to any device.
 */
#include "client.h"
#include "ledger_now.h"

static const CUmemLocationType places[] = {CU_MEM_LOCATION_TYPE_HOST,
					   CU_MEM_LOCATION_TYPE_HOST_NUMA,
					   CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
					   CU_MEM_LOCATION_TYPE_INVALID};

/* Its size, which no limit bears, is charged nowhere: neither in the ledger
 * nor in what is shown. */
static void nothing_is_charged(void)
{
	if (!getenv("CAPPED"))
		return;
	CHECK_EQ(ledger_used(NULL, NULL), (uint64_t)0);
	for (unsigned i = 0; i < 2; i++) {
		nvmlDevice_t device;
		nvmlMemory_t memory;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		CHECK_EQ(memory.used, 0ull);
	}
}

/* Prints every code. */
static int child(void)
{
	const size_t bytes = 16 << 20;
	CUdevice device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (int id = -1; id < 2; id++) {
			const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
							  .location = {.type = places[i],
								       .id = id}};
			CUmemGenericAllocationHandle handle = 0, again = 0;
			CUdeviceptr at = 0;
			int rc[6] = {-1, -1, -1, -1, -1, -1};

			rc[0] = CU(cuMemAddressReserve)(&at, bytes, 0, 0, 0);
			rc[1] = CU(cuMemCreate)(&handle, bytes, &prop, 0);
			if (!rc[1]) {
				rc[2] = CU(cuMemMap)(at, bytes, 0, handle, 0);
				nothing_is_charged();
				if (!rc[2]) {
					rc[5] = CU(cuMemRetainAllocationHandle)(&again, (void *)at);
					if (!rc[5])
						CHECK_EQ(CU(cuMemRelease)(again), CUDA_SUCCESS);
					rc[3] = CU(cuMemUnmap)(at, bytes);
				}
				rc[4] = CU(cuMemRelease)(handle);
			}
			if (id == 0 && i < 2 && (rc[1] || rc[2] || rc[3] || rc[4]))
				FAIL("memory of the host: create %d, map %d, unmap %d, release %d",
				     rc[1], rc[2], rc[3], rc[4]);
			if (!rc[0])
				CHECK_EQ(CU(cuMemAddressFree)(at, bytes), CUDA_SUCCESS);
			printf("%d %d:", (int)places[i], id);
			for (int k = 0; k < 6; k++)
				printf(" %d", rc[k]);
			printf("\n");
		}
	fflush(stdout);
	CHECK_EQ(CU(cuMemCreate)(NULL, bytes, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	/* The limit is too small for one of these on a device: a charge would be refused. */
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=8M", "CAPPED=1", "SIMGPU_DEVICES=24G,16G",
				   NULL};
	const char *const bare_env[] = {"SIMGPU_DEVICES=24G,16G", NULL};
	struct client bare, capped;

	if (argc > 1)
		return child();
	bare = client_start(self, bare_env);
	capped = client_capped(self, env);
	clients_agree(&bare, &capped);
	return 0;
}
