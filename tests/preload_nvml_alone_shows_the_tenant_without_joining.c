/*
 * A program that only uses NVML (nvidia-smi) shows what its tenant has, without becoming a
 * member and without loading the driver: before anybody has joined, while a member holds
 * memory, after it ended, and after one was killed whose limit was another.
 */
#include "client.h"

#include <glob.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static int look(void)
{
	nvmlMemory_v2_t v2 = {.version = nvmlMemory_v2};
	nvmlMemory_t memory;
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo_v2)(device, &v2), NVML_SUCCESS);
	CHECK_EQ(v2.total, memory.total);
	CHECK_EQ(v2.used, memory.used);
	CHECK_EQ(v2.free, memory.free);
	CHECK_EQ(v2.reserved, 0ull);
	printf("%llu %llu %llu\n", memory.total, memory.used, memory.free);
	CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
	return 0;
}

static int hold(void)
{
	char line[16];
	CUdeviceptr p;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1 * GIB), CUDA_SUCCESS);
	printf("%zu\n", free_now());
	fflush(stdout);
	CHECK(!fgets(line, sizeof(line), stdin));
	return 0;
}

static void see(const char *tenant, const char *limit, unsigned long long total,
		unsigned long long used)
{
	const char *const self[] = {"/proc/self/exe", "look", NULL};
	const char *const env[] = {tenant, limit, NULL};
	struct client c = client_capped(self, env);
	unsigned long long got[3];

	CHECK_EQ(sscanf(client_line(&c, DEADLINE_MS), "%llu %llu %llu", &got[0], &got[1], &got[2]),
		 3);
	CHECK_EQ(got[0], total);
	CHECK_EQ(got[1], used);
	CHECK_EQ(got[2], total - used);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

static size_t ledgers(void)
{
	char pattern[PATH_MAX];
	glob_t found;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/*", getenv("CUQUOTA_DIR"));
	n = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	if (n)
		globfree(&found);
	return n;
}

/* What a killed program held is still in the ledger, under its limit; the next brings another. */
static void see_after_the_dead(const char *limit, const char *next, unsigned long long total)
{
	const char *const self[] = {"/proc/self/exe", "hold", NULL};
	const char *const env[] = {"CUQUOTA_TENANT=c", limit, NULL};
	struct client c = client_capped(self, env);

	client_line(&c, DEADLINE_MS);
	client_kill(&c, SIGKILL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 128 + SIGKILL);
	see("CUQUOTA_TENANT=c", next, total, 0);
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "hold", NULL};
	const char *const env[] = {"CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT=4G", NULL};
	unsigned long long free_bytes;
	struct client c;

	setenv("SIMGPU_DEVICES", "24G", 1);
	if (argc > 1)
		return strcmp(argv[1], "look") ? hold() : look();
	see("CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT=4G", 4 * GIB, 0);
	CHECK_EQ(ledgers(), 0ul);

	c = client_capped(self, env);
	free_bytes = strtoull(client_line(&c, DEADLINE_MS), NULL, 10);
	CHECK_LE(free_bytes, 3 * GIB);
	see("CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT=4G", 4 * GIB, 4 * GIB - free_bytes);
	see("CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT", 4 * GIB, 4 * GIB - free_bytes);
	see("CUQUOTA_TENANT=b", "CUQUOTA_MEMORY_LIMIT=2G", 2 * GIB, 0);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	see("CUQUOTA_TENANT=a", "CUQUOTA_MEMORY_LIMIT=4G", 4 * GIB, 0);
	see_after_the_dead("CUQUOTA_MEMORY_LIMIT", "CUQUOTA_MEMORY_LIMIT", 24 * GIB);
	see_after_the_dead("CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_MEMORY_LIMIT=8G", 8 * GIB);
	return 0;
}
