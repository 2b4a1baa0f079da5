/*
 * report: UV-04
 * One card of four is hidden and CUDA_VISIBLE_DEVICES=2,0 stands on top: NVML shows three in the
 * order of their PCI addresses, CUDA two in the program's, and what is used on a card is the same
 * in both where they are joined by UUID.
 */
#include "client.h"

#define MIB (1ull << 20)

static void nvml_uuid(unsigned index, char uuid[96], unsigned long long *used, unsigned *bus)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;
	nvmlPciInfo_t pci;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(index, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetUUID)(device, uuid, 96), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
	*used = memory.used;
	*bus = pci.bus;
}

static void cuda_uuid(int ordinal, char text[96])
{
	size_t n = 4;
	CUuuid uuid;

	CHECK_EQ(CU(cuDeviceGetUuid_v2)(&uuid, ordinal), CUDA_SUCCESS);
	strcpy(text, "GPU-");
	for (int k = 0; k < 16; k++)
		n += (size_t)sprintf(text + n, "%s%02hhx",
				     k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
				     uuid.bytes[k]);
}

static int child(void)
{
	static const unsigned place[] = {2, 0}; /* in NVML of the ordinals */
	unsigned count, bus[3];
	unsigned long long used[3];
	char uuid[3][96], ours[96];
	size_t in_cuda[2];
	int ordinals;

	for (int i = 0; i < 2; i++) {
		size_t total, unused;
		CUdeviceptr p;

		context_now(i);
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, (size_t)(100 + 400 * i) * MIB), CUDA_SUCCESS);
		CHECK_EQ(CU(cuMemGetInfo_v2)(&unused, &total), CUDA_SUCCESS);
		in_cuda[i] = total - unused;
		CHECK_GE((unsigned long long)in_cuda[i], (100 + 400 * i) * MIB);
	}
	CHECK_EQ(CU(cuDeviceGetCount)(&ordinals), CUDA_SUCCESS);
	CHECK_EQ(ordinals, 2);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(count, 3u);
	for (unsigned i = 0; i < 3; i++)
		nvml_uuid(i, uuid[i], &used[i], &bus[i]);
	CHECK_LE(bus[0], bus[1] - 1);
	CHECK_LE(bus[1], bus[2] - 1);
	CHECK_EQ(used[1], 0ull);
	for (int i = 0; i < 2; i++) {
		cuda_uuid(i, ours);
		CHECK_STR(ours, uuid[place[i]]);
		CHECK_EQ((unsigned long long)in_cuda[i], used[place[i]]);
	}
	CHECK_NE(used[0], used[2]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=0,2,3", "CUDA_VISIBLE_DEVICES=2,0",
				   "CUQUOTA_MEMORY_LIMIT=2G", NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G", 1);
	if (argc > 1)
		return child();
	c = client_capped(self, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
