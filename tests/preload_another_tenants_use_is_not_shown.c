/*
 * report: WN-06
 * Two tenants of 10 GiB each on a card of 24 GiB: while one holds 9 GiB and grows, the
 * other's figures in CUDA and NVML are its own alone: nothing used before it has a
 * context, and then its context.
 */
#include "client.h"

#define GIB (1ull << 30)

static int child(void)
{
	nvmlDevice_t device;
	char line[64];

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	for (int started = 0; started < 2; started++) {
		nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
		nvmlMemory_t first;

		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &first), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(device, &second), NVML_SUCCESS);
		CHECK_EQ(first.used, 0ull);
		CHECK_EQ(first.free, 10 * GIB);
		CHECK_EQ(second.used, 0ull);
		CHECK_EQ(second.free, 10 * GIB);
		CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	}
	context_now(0);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		const unsigned long long bytes = strtoull(line, NULL, 10);
		nvmlMemory_t memory;
		CUdeviceptr p;

		if (bytes)
			printf("%d\n", CU(cuMemAlloc_v2)(&p, bytes));
		else {
			CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
			printf("%zu %zu ", free_now(), total_now());
			printf("%llu %llu %llu\n", memory.free, memory.total, memory.used);
		}
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env_a[] = {"CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT=10G", NULL};
	const char *const env_b[] = {"CUQUOTA_TENANT=b", "CUQUOTA_MEMORY_LIMIT=10G", NULL};
	unsigned long long figure[5];
	char before[256];
	struct client a, b;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "300M", 1);
	if (argc > 1)
		return child();
	a = client_capped(self, env_a);
	CLIENT_SAYS(&a, "ready");
	client_say(&a, "%llu", 9 * GIB);
	CLIENT_SAYS(&a, "0");
	b = client_capped(self, env_b);
	CLIENT_SAYS(&b, "ready");
	client_say(&b, "0");
	snprintf(before, sizeof(before), "%s", client_line(&b, DEADLINE_MS));
	CHECK_EQ(sscanf(before, "%llu %llu %llu %llu %llu", &figure[0], &figure[1], &figure[2],
			&figure[3], &figure[4]),
		 5);
	CHECK_EQ(figure[1], 10 * GIB);
	CHECK_EQ(figure[3], 10 * GIB);
	CHECK_EQ(figure[0], figure[2]);
	CHECK_EQ(figure[4], 10 * GIB - figure[0]);
	CHECK_EQ(figure[4], 302ull << 20); /* its context and the spare grain */
	for (int i = 0; i < 4; i++) {
		client_say(&a, "%llu", 128ull << 20);
		CLIENT_SAYS(&a, "0");
		client_say(&b, "0");
		CLIENT_SAYS(&b, before);
	}
	client_say(&b, "%llu", 1 * GIB);
	CLIENT_SAYS(&b, "0");
	client_say(&b, "0");
	CHECK_EQ(strtoull(client_line(&b, DEADLINE_MS), NULL, 10), figure[0] - 1 * GIB);
	CHECK_EQ(client_wait(&a, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&b, DEADLINE_MS), 0);
	return 0;
}
