/*
 * report: UV-02
 * The tenant's list is the UUID of one card of four, the third: CUDA and NVML have that one under
 * index 0, by UUID, PCI address and in a listing as nvidia-smi prints it, and nothing else.
 */
#include "client.h"

#define CARDS 4

struct card {
	char uuid[96], pci[32], name[96];
};

static void learn(struct card card[CARDS])
{
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++) {
		nvmlDevice_t device;
		nvmlPciInfo_t pci;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, card[i].uuid, sizeof(card[i].uuid)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetName)(device, card[i].name, sizeof(card[i].name)),
			 NVML_SUCCESS);
		strcpy(card[i].pci, pci.busIdLegacy);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

static void list_nvml(void)
{
	unsigned count;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	for (unsigned i = 0; i < count; i++) {
		char uuid[96], name[96];
		nvmlDevice_t device;
		nvmlPciInfo_t pci;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetName)(device, name, sizeof(name)), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, uuid, sizeof(uuid)), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
		printf("GPU %u: %s (UUID: %s) %s\n", i, name, uuid, pci.busIdLegacy);
	}
}

static void list_cuda(void)
{
	int count = 0;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	for (int i = 0; i < count; i++) {
		char name[96], pci[32];
		CUdevice device;
		CUuuid uuid;

		CHECK_EQ(CU(cuDeviceGet)(&device, i), CUDA_SUCCESS);
		CHECK_EQ(CU(cuDeviceGetName)(name, sizeof(name), device), CUDA_SUCCESS);
		CHECK_EQ(CU(cuDeviceGetUuid_v2)(&uuid, device), CUDA_SUCCESS);
		CHECK_EQ(CU(cuDeviceGetPCIBusId)(pci, sizeof(pci), device), CUDA_SUCCESS);
		printf("GPU %d: %s (UUID: GPU-", i, name);
		for (int k = 0; k < 16; k++)
			printf("%s%02hhx", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
			       uuid.bytes[k]);
		printf(") %s\n", pci);
	}
}

/* Reads the names of all cards: only the third is found. */
static int child(void)
{
	char uuid[96], pci[32];

	list_nvml();
	list_cuda();
	for (int i = 0; i < CARDS; i++) {
		const bool here = i == 2;
		nvmlDevice_t handle;
		CUdevice device;

		CHECK_EQ(scanf("%95s %31s", uuid, pci), 2);
		CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(uuid, &handle),
			 here ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
		CHECK_EQ(ML(nvmlDeviceGetHandleByPciBusId_v2)(pci, &handle),
			 here ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
		CHECK_EQ(CU(cuDeviceGetByPCIBusId)(&device, pci),
			 here ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	struct card card[CARDS];
	char list[128], want[512];
	const char *const env[] = {list, NULL};
	struct client c;

	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G", 1);
	if (argc > 1)
		return child();
	learn(card);
	snprintf(list, sizeof(list), "CUQUOTA_VISIBLE_DEVICES=%s", card[2].uuid);
	snprintf(want, sizeof(want), "GPU 0: %s (UUID: %s) %s", card[2].name, card[2].uuid,
		 card[2].pci);
	c = client_capped(self, env);
	for (int i = 0; i < CARDS; i++)
		client_say(&c, "%s %s", card[i].uuid, card[i].pci);
	CLIENT_SAYS(&c, want);
	CLIENT_SAYS(&c, want);
	CHECK(!client_line(&c, DEADLINE_MS));
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
