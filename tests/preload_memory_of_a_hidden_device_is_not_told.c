/*
 * A program that makes up the handle of a hidden card is told of its memory and processes what NVML
 * tells of no handle at all.
 */
#include "nvml_lists.h"

static nvmlDevice_t at(unsigned index)
{
	nvmlDevice_t handle = NULL;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(index, &handle), NVML_SUCCESS);
	return handle;
}

static int child(const char *distance)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	nvmlDeviceAttributes_t attributes;
	nvmlConfComputeMemSizeInfo_t sizes;
	struct listed listed;
	nvmlDevice_t hidden;
	nvmlMemory_t first;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	if (!distance) {
		printf("%lld\n", (long long)((intptr_t)at(1) - (intptr_t)at(0)));
		return 0;
	}
	hidden = (nvmlDevice_t)((intptr_t)at(0) + atoll(distance));
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(at(0), &first), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(hidden, &first), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(hidden, &second), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlDeviceGetConfComputeProtectedMemoryUsage)(hidden, &first),
		 ML(nvmlDeviceGetConfComputeProtectedMemoryUsage)(NULL, &first));
	CHECK_EQ(ML(nvmlDeviceGetConfComputeMemSizeInfo)(hidden, &sizes),
		 ML(nvmlDeviceGetConfComputeMemSizeInfo)(NULL, &sizes));
	CHECK_EQ(ML(nvmlDeviceGetAttributes_v2)(hidden, &attributes),
		 ML(nvmlDeviceGetAttributes_v2)(NULL, &attributes));
	for (int form = 0; form < LIST_FORMS; form++) {
		listed.count = LIST_ROOM;
		if (list_call(form, hidden, &listed.count, listed.row) == NVML_SUCCESS)
			CHECK_EQ(listed.count, 0u);
	}
	return 0;
}

static int hold(void)
{
	char line[16];
	CUdeviceptr p;

	context_now(1);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1 << 30), CUDA_SUCCESS);
	printf("ready\n");
	fflush(stdout);
	CHECK(!fgets(line, sizeof(line), stdin));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const holder[] = {"/proc/self/exe", "hold", NULL};
	const char *const bare[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=0", "CUQUOTA_TENANT=b", NULL};
	char distance[32];
	const char *const self[] = {"/proc/self/exe", "child", distance, NULL};
	struct client c, b;

	setenv("SIMGPU_DEVICES", "24G,16G", 1);
	setenv("SIMGPU_CUDA_ORDER", "pci", 1);
	if (argc > 1)
		return strcmp(argv[1], "hold") ? child(argv[2]) : hold();
	b = client_capped(holder, NULL);
	CLIENT_SAYS(&b, "ready");
	c = client_start(bare, NULL);
	snprintf(distance, sizeof(distance), "%s", client_line(&c, DEADLINE_MS));
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_capped(self, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&b, DEADLINE_MS), 0);
	return 0;
}
