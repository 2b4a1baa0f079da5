/*
 * One thread allocates and frees without end while the main thread forks 500 times; each child does
 * nothing, calls exit(), or calls NVML under our hooks. No child takes 2 s, and afterwards the
 * parent's row holds what it held, and another process of the tenant can have all the rest.
 *
 * report: FE-01
 */
#include "client.h"
#include "ledger_now.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define LIMIT (2048 * MIB)
#define PATIENCE_MS 2000

static int stop;
static CUcontext context;
/* Found before any fork: the loader's locks are not a forked child's to wait for. */
static __typeof__(&cuMemAlloc_v2) take;
static __typeof__(&cuMemFree_v2) give;
static __typeof__(&nvmlInit_v2) nvml_start;
static __typeof__(&nvmlShutdown) nvml_stop;
static __typeof__(&nvmlDeviceGetCount_v2) nvml_count;
static __typeof__(&nvmlDeviceGetHandleByIndex_v2) nvml_device;
static __typeof__(&nvmlDeviceGetMemoryInfo) nvml_memory;

static void *churn(void *unused)
{
	CUdeviceptr p;

	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		/* Small ones, ones out of the credit and ones that grow: each
		 * has locks of its own. */
		CHECK_EQ(take(&p, i % 3 ? i % 3 == 1 ? 1000 : 4 * MIB : 300 * MIB), CUDA_SUCCESS);
		CHECK_EQ(give(p), CUDA_SUCCESS);
	}
	return unused;
}

static int by_nvml(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;
	unsigned count = 0;

	if (nvml_start() || nvml_count(&count) || count != 1 || nvml_device(0, &device) ||
	    nvml_memory(device, &memory))
		return 2;
	return memory.total == LIMIT && memory.used <= LIMIT && !nvml_stop() ? 0 : 3;
}

/* Its status, or -1 when it takes too long. */
static int end_of(pid_t pid)
{
	const int64_t until = now_ms() + PATIENCE_MS;
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_ms() < until)
		usleep(200);
	CHECK_SYS(got);
	if (got)
		return status;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static int other(void)
{
	CUdeviceptr p;
	char line[16];

	context_now(0);
	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, strtoull(line, NULL, 10) * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	return 0;
}

static int parent(void)
{
	const int forks = test_long() ? 5000 : 500;
	pthread_t thread;
	CUdeviceptr p;
	char line[16];
	size_t before;

	context = context_now(0);
	take = CU(cuMemAlloc_v2);
	give = CU(cuMemFree_v2);
	nvml_start = ML(nvmlInit_v2);
	nvml_stop = ML(nvmlShutdown);
	nvml_count = ML(nvmlDeviceGetCount_v2);
	nvml_device = ML(nvmlDeviceGetHandleByIndex_v2);
	nvml_memory = ML(nvmlDeviceGetMemoryInfo);
	CHECK_EQ(take(&p, 512 * MIB), CUDA_SUCCESS);
	before = free_now();
	CHECK_EQ(pthread_create(&thread, NULL, churn, NULL), 0);
	for (int i = 0; i < forks; i++) {
		const pid_t pid = fork();
		int status;

		CHECK_SYS(pid);
		if (!pid && i % 3 == 1)
			exit(0);
		if (!pid)
			_exit(i % 3 ? by_nvml() : 0);
		status = end_of(pid);
		if (status)
			FAIL("child %d (kind %d) %s, status %#x", i, i % 3,
			     status < 0 ? "hangs" : "fails", status);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_GE(free_now() + 2 * MIB, before); /* an emptied grain of small ones may stay paid */
	printf("%llu\n", (unsigned long long)(free_now() / MIB));
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "CUQUOTA_TENANT=t",
				   "CUQUOTA_LOG=error", "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=64M", NULL};
	struct client c, rest;
	unsigned long long left;

	if (argc > 1)
		return *argv[1] == 'p' ? parent() : other();
	c = client_capped((const char *const[]){"/proc/self/exe", "parent", NULL}, env);
	left = strtoull(client_line(&c, 10 * DEADLINE_MS) ?: "", NULL, 10);
	CHECK_LE(2048 - left - 512 - 66, 2ull);
	CHECK_EQ(ledger_used("t", NULL), (2048 - left) * MIB);
	rest = client_capped((const char *const[]){"/proc/self/exe", "other", NULL}, env);
	CLIENT_SAYS(&rest, "ready");
	client_say(&rest, "%llu", left - 66);
	CHECK_EQ(client_wait(&rest, DEADLINE_MS), 0);
	client_say(&c, "end");
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
