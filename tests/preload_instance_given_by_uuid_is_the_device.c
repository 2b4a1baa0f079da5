/*
 * report: UV-03
 * A card of two MIG instances, CUDA_VISIBLE_DEVICES=MIG-<uuid>: one device, that instance, in all
 * the lesser of its size and the limit that is keyed by its UUID, in CUDA and in NVML; as much can
 * be had, no more, and the other instance does not count.
 */
#include "client.h"

#include "context.h"

#define MIB (1ull << 20)

static char name[2][64];

static const struct row {
	unsigned instance;
	const char *limit; /* "%0" and "%1": the instances' names */
	unsigned mib;	   /* what it comes to */
} rows[] = {
	{0, NULL, 1400},
	{1, NULL, 600},
	{0, "%0=200M", 200},
	{1, "%1=200M", 200},
	{1, "%1=900M", 600},
	{0, "%1=200M", 1400},
	{1, "300M", 300},
	{0, "%1=200M,%0=400M,*=100M", 400},
	{1, "%0=200M,*=500M", 500},
};

static void check_nvml(size_t total)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	nvmlMemory_t first;
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(getenv("CUDA_VISIBLE_DEVICES"), &device),
		 NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &first), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(device, &second), NVML_SUCCESS);
	CHECK_EQ(first.total, total);
	CHECK_EQ(second.total, total);
	CHECK_EQ(first.free, free_now());
	CHECK_EQ(first.used + first.free, total);
}

static int child(size_t total)
{
	char text[64] = "MIG-";
	int count = 0, n = 4;
	CUdeviceptr all;
	const int64_t until = now_ms() + DEADLINE_MS;
	size_t bytes = 0;
	CUuuid uuid;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 1);
	CHECK_EQ(CU(cuDeviceGetUuid_v2)(&uuid, 0), CUDA_SUCCESS);
	for (unsigned i = 0; i < sizeof(uuid.bytes); i++)
		n += sprintf(text + n, "%s%02hhx", strchr("\4\6\10\12", (int)i) && i ? "-" : "",
			     uuid.bytes[i]);
	CHECK_STR(text, getenv("CUDA_VISIBLE_DEVICES"));
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&bytes, 0), CUDA_SUCCESS);
	CHECK_EQ(bytes, total);
	context_now(0);
	CHECK_EQ(total_now(), total);
	/* What those before had of the card may be shown until the next sweep. */
	while (free_now() < total - 60 * MIB) {
		CHECK_LE(now_ms(), until);
		usleep(1000);
	}
	check_nvml(total);
	bytes = free_now() / (2 * MIB) * (2 * MIB);
	/* Without a limit the grain that is kept for small requests can be had too. */
	CHECK_EQ(CU(cuMemAlloc_v2)(&all, bytes + 4 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuMemAlloc_v2)(&all, bytes), CUDA_SUCCESS);
	check_nvml(total);
	return 0;
}

static void learn(void)
{
	nvmlDevice_t card, device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &card), NVML_SUCCESS);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(ML(nvmlDeviceGetMigDeviceHandleByIndex)(card, i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, name[i], sizeof(name[i])), NVML_SUCCESS);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

static void expect(const struct row *row)
{
	char visible[128], limit[512] = "CUQUOTA_MEMORY_LIMIT=", mib[8];
	const char *const env[] = {visible, row->limit ? limit : "CUQUOTA_MEMORY_LIMIT",
				   "CUQUOTA_LOG=off", NULL};
	const char *const argv[] = {"/proc/self/exe", mib, NULL};
	struct client c;

	in_context("instance %u, limit %s", row->instance, row->limit ? row->limit : "none");
	snprintf(visible, sizeof(visible), "CUDA_VISIBLE_DEVICES=%s", name[row->instance]);
	snprintf(mib, sizeof(mib), "%u", row->mib);
	for (const char *at = row->limit ? row->limit : ""; *at; at++) {
		const size_t n = strlen(limit);

		if (*at == '%')
			snprintf(limit + n, sizeof(limit) - n, "%s", name[*++at - '0']);
		else
			snprintf(limit + n, sizeof(limit) - n, "%c", *at);
	}
	c = client_capped(argv, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "3G,2G", 1);
	setenv("SIMGPU_MIG", "0:1400M+600M", 1);
	setenv("SIMGPU_CONTEXT", "50M", 1);
	if (argc > 1)
		return child((size_t)atoi(argv[1]) * MIB);
	learn();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect(&rows[i]);
	return 0;
}
