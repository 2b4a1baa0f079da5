/*
 * report: WN-08
 * Three processes of one tenant and two of another on one card: each list of compute processes,
 * read by its size first, names exactly the caller's tenant's members, with what the ledger charges
 * to each, which adds up to what is shown as used; so for a member and for a program that only uses
 * NVML. Who has no context is not listed, nor who ended.
 */
#include "ledger_now.h"
#include "nvml_lists.h"

#define MIB (1ull << 20)

static int hold(const char *mib)
{
	char line[16];
	CUdeviceptr p;

	if (!strtoull(mib, NULL, 10)) {
		CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	} else {
		context_now(0);
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, strtoull(mib, NULL, 10) * MIB), CUDA_SUCCESS);
		/* Stays as credit, which is nobody's. */
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, 20 * MIB), CUDA_SUCCESS);
		CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	}
	printf("ready\n");
	fflush(stdout);
	CHECK(!fgets(line, sizeof(line), stdin));
	return 0;
}

/* A member is listed once, as what the ledger knows it for. */
static void others(nvmlDevice_t device)
{
	nvmlProcessDetail_v1_t room[LIST_ROOM];
	unsigned count[6] = {[0 ... 5] = LIST_ROOM};

	CHECK_EQ(ML(nvmlDeviceGetGraphicsRunningProcesses)(device, &count[0], (void *)room), 0);
	CHECK_EQ(ML(nvmlDeviceGetGraphicsRunningProcesses_v2)(device, &count[1], (void *)room), 0);
	CHECK_EQ(ML(nvmlDeviceGetGraphicsRunningProcesses_v3)(device, &count[2], (void *)room), 0);
	CHECK_EQ(ML(nvmlDeviceGetMPSComputeRunningProcesses)(device, &count[3], (void *)room), 0);
	CHECK_EQ(ML(nvmlDeviceGetMPSComputeRunningProcesses_v2)(device, &count[4], (void *)room),
		 0);
	CHECK_EQ(ML(nvmlDeviceGetMPSComputeRunningProcesses_v3)(device, &count[5], (void *)room),
		 0);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(count[i], 0u);
	for (unsigned mode = NVML_PROCESS_MODE_GRAPHICS; mode <= NVML_PROCESS_MODE_MPS; mode++) {
		nvmlProcessDetailList_t list = {.version = nvmlProcessDetailList_v1,
						.mode = mode,
						.numProcArrayEntries = LIST_ROOM,
						.procArray = room};

		CHECK_EQ(ML(nvmlDeviceGetRunningProcessDetailList)(device, &list), NVML_SUCCESS);
		CHECK_EQ(list.numProcArrayEntries, 0u);
	}
}

/* Prints "pid bytes" of each row; all forms agree. */
static int look(bool joined)
{
	struct listed first, other;
	nvmlMemory_t memory;
	nvmlDevice_t device;
	uint64_t sum = 0;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	if (joined)
		context_now(0);
	others(device);
	list_read(LIST_V3, device, &first);
	for (int form = 0; form < LIST_FORMS; form++) {
		list_read(form, device, &other);
		CHECK_EQ(other.count, first.count);
		for (unsigned i = 0; i < first.count; i++) {
			CHECK_EQ(listed_bytes(&other, first.row[i].pid),
				 (uint64_t)first.row[i].usedGpuMemory);
			CHECK_EQ(other.row[i].gpuInstanceId, form == LIST_V1 ? 0u : UINT32_MAX);
			CHECK_EQ(other.row[i].computeInstanceId, form == LIST_V1 ? 0u : UINT32_MAX);
			CHECK_EQ(other.row[i].usedGpuCcProtectedMemory, 0ull);
		}
	}
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	for (unsigned i = 0; i < first.count; i++)
		sum += first.row[i].usedGpuMemory;
	CHECK_EQ((uint64_t)memory.used, sum);
	printf("%u\n", first.count);
	for (unsigned i = 0; i < first.count; i++)
		printf("%u %llu\n", first.row[i].pid, first.row[i].usedGpuMemory);
	if (joined)
		CHECK_NE(listed_bytes(&first, (unsigned)getpid()), UINT64_MAX);
	return 0;
}

static const char *const self_hold[][4] = {
	{"/proc/self/exe", "hold", "0"},
	{"/proc/self/exe", "hold", "100"},
	{"/proc/self/exe", "hold", "200"},
};

static struct client holder(const char *tenant, int which)
{
	const char *const env[] = {tenant, "CUQUOTA_MEMORY_LIMIT=8G", NULL};
	struct client c = client_capped(self_hold[which], env);

	CLIENT_SAYS(&c, "ready");
	return c;
}

/* What `tenant` sees, against what the ledger says of those pids (and the onlooker itself). */
static void see(const char *tenant, bool joined, const struct client *const clients[],
		unsigned count)
{
	const char *const self[] = {"/proc/self/exe", joined ? "join" : "look", NULL};
	const char *const env[] = {tenant, "CUQUOTA_MEMORY_LIMIT=8G", NULL};
	struct client c = client_capped(self, env);
	unsigned long long bytes;
	unsigned rows, pid;

	CHECK_EQ(sscanf(client_line(&c, DEADLINE_MS), "%u", &rows), 1);
	CHECK_EQ(rows, count + joined);
	for (unsigned i = 0; i < rows; i++) {
		unsigned k = 0;

		CHECK_EQ(sscanf(client_line(&c, DEADLINE_MS), "%u %llu", &pid, &bytes), 2);
		while (k < count && (unsigned)clients[k]->pid != pid)
			k++;
		if (k == count)
			CHECK_EQ(pid, (unsigned)c.pid);
		else
			CHECK_EQ(bytes, ledger_used_by((int)pid));
	}
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	struct client idle, a, b, x, y;

	setenv("SIMGPU_DEVICES", "24G", 1);
	if (argc > 2)
		return hold(argv[2]);
	if (argc > 1)
		return look(!strcmp(argv[1], "join"));
	see("CUQUOTA_TENANT=one", false, NULL, 0);
	idle = holder("CUQUOTA_TENANT=one", 0);
	a = holder("CUQUOTA_TENANT=one", 1);
	b = holder("CUQUOTA_TENANT=one", 2);
	x = holder("CUQUOTA_TENANT=two", 1);
	y = holder("CUQUOTA_TENANT=two", 2);
	for (int joined = 0; joined < 2; joined++) {
		see("CUQUOTA_TENANT=one", joined, (const struct client *const[]){&a, &b}, 2);
		see("CUQUOTA_TENANT=two", joined, (const struct client *const[]){&x, &y}, 2);
		see("CUQUOTA_TENANT=three", joined, NULL, 0);
	}
	client_kill(&a, SIGKILL);
	CHECK_EQ(client_wait(&a, DEADLINE_MS), 128 + SIGKILL);
	see("CUQUOTA_TENANT=one", false, (const struct client *const[]){&b}, 1);
	CHECK_EQ(client_wait(&b, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&idle, DEADLINE_MS), 0);
	see("CUQUOTA_TENANT=one", false, NULL, 0);
	CHECK_EQ(client_wait(&x, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&y, DEADLINE_MS), 0);
	return 0;
}
