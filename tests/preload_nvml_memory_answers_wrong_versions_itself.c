/* nvmlDeviceGetMemoryInfo_v2 with another version, and before NVML is started, answers as the bare
 * library does. */
#include "client.h"

static int child(void)
{
	static const unsigned size = sizeof(nvmlMemory_v2_t);
	const unsigned versions[] = {0,
				     1,
				     nvmlMemory_v2,
				     nvmlMemory_v2 + 1,
				     nvmlMemory_v2 - 8,
				     size | 1u << 24,
				     size | 3u << 24,
				     ~0u};
	nvmlMemory_t memory1;
	nvmlDevice_t device = NULL;

	printf("%d\n", ML(nvmlDeviceGetMemoryInfo)(device, &memory1));
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		nvmlMemory_v2_t memory = {.version = versions[i], .total = 5};
		const nvmlReturn_t rc = ML(nvmlDeviceGetMemoryInfo_v2)(device, &memory);

		printf("%u: %d %u %d\n", versions[i], rc, memory.version, memory.total == 5);
	}
	printf("%d\n", ML(nvmlDeviceGetMemoryInfo)(device, NULL));
	printf("%d\n", ML(nvmlDeviceGetMemoryInfo_v2)(device, NULL));
	printf("%d\n", ML(nvmlDeviceGetMemoryInfo)((nvmlDevice_t)0x1234, &memory1));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", NULL};
	struct client bare, capped;

	if (argc > 1)
		return child();
	bare = client_start(self, NULL);
	capped = client_capped(self, env);
	clients_agree(&bare, &capped);
	return 0;
}
