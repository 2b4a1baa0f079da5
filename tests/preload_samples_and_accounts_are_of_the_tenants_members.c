/*
 * report: WN-08
 * What NVML says of each process besides its memory: samples of utilisation, sessions of the
 * encoder and of frame capture, accounts. With two tenants on a card each sees its own members', by
 * its own count, in the protocol of sizes of each call; a PID of the other tenant is as one that
 * does not exist; what an account says of memory is the ledger's.
 */
#include "client.h"

#include <stddef.h>

#define MIB (1ull << 20)
#define ROOM 8
#define CANARY 0xa5

static int hold(void)
{
	char line[16];
	CUdeviceptr p, more;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&more, 200 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 100 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(more), CUDA_SUCCESS);
	printf("ready\n");
	fflush(stdout);
	CHECK(!fgets(line, sizeof(line), stdin));
	return 0;
}

static nvmlReturn_t samples(nvmlDevice_t d, unsigned *count, void *rows)
{
	return ML(nvmlDeviceGetProcessUtilization)(d, rows, count, 0);
}

static nvmlReturn_t infos(nvmlDevice_t d, unsigned *count, void *rows)
{
	nvmlProcessesUtilizationInfo_t info = {.version = nvmlProcessesUtilizationInfo_v1,
					       .processSamplesCount = *count,
					       .procUtilArray = rows};
	const nvmlReturn_t rc = ML(nvmlDeviceGetProcessesUtilizationInfo)(d, &info);

	*count = info.processSamplesCount;
	return rc;
}

static nvmlReturn_t encoders(nvmlDevice_t d, unsigned *count, void *rows)
{
	return ML(nvmlDeviceGetEncoderSessions)(d, count, rows);
}

static nvmlReturn_t captures(nvmlDevice_t d, unsigned *count, void *rows)
{
	return ML(nvmlDeviceGetFBCSessions)(d, count, rows);
}

static nvmlReturn_t accounts(nvmlDevice_t d, unsigned *count, void *rows)
{
	return ML(nvmlDeviceGetAccountingPids)(d, count, rows);
}

static const struct form {
	const char *name;
	nvmlReturn_t (*get)(nvmlDevice_t, unsigned *, void *);
	size_t row, pid;
	nvmlReturn_t size;  /* the answer to the question for the size */
	nvmlReturn_t empty; /* where there is nobody */
} forms[] = {
	{"samples", samples, sizeof(nvmlProcessUtilizationSample_t),
	 offsetof(nvmlProcessUtilizationSample_t, pid), NVML_ERROR_INSUFFICIENT_SIZE,
	 NVML_ERROR_NOT_FOUND},
	{"infos", infos, sizeof(nvmlProcessUtilizationInfo_v1_t),
	 offsetof(nvmlProcessUtilizationInfo_v1_t, pid), NVML_ERROR_INSUFFICIENT_SIZE,
	 NVML_ERROR_NOT_FOUND},
	{"encoders", encoders, sizeof(nvmlEncoderSessionInfo_t),
	 offsetof(nvmlEncoderSessionInfo_t, pid), NVML_SUCCESS, NVML_SUCCESS},
	{"captures", captures, sizeof(nvmlFBCSessionInfo_t), offsetof(nvmlFBCSessionInfo_t, pid),
	 NVML_SUCCESS, NVML_SUCCESS},
	{"accounts", accounts, sizeof(unsigned), 0, NVML_ERROR_INSUFFICIENT_SIZE, NVML_SUCCESS},
};

static unsigned pid_in(const struct form *form, const unsigned char *rows, unsigned i)
{
	unsigned pid;

	memcpy(&pid, rows + i * form->row + form->pid, sizeof(pid));
	return pid;
}

static void read_form(const struct form *form, nvmlDevice_t d, unsigned one, unsigned other)
{
	unsigned char rows[ROOM * sizeof(nvmlFBCSessionInfo_t)];
	unsigned count = 0;

	memset(rows, CANARY, sizeof(rows));
	if (!one) {
		CHECK_EQ(form->get(d, &count, NULL), form->empty);
		CHECK_EQ(count, 0u);
		count = ROOM;
		CHECK_EQ(form->get(d, &count, rows), form->empty);
		CHECK_EQ(count, 0u);
		CHECK_EQ(rows[0], CANARY);
		return;
	}
	CHECK_EQ(form->get(d, &count, NULL), form->size);
	CHECK_EQ(count, 2u);
	count = 1;
	CHECK_EQ(form->get(d, &count, rows), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(count, 2u);
	CHECK_EQ(rows[form->row], CANARY);
	for (unsigned room = 2; room <= ROOM; room += ROOM - 2) {
		memset(rows, CANARY, sizeof(rows));
		count = room;
		CHECK_EQ(form->get(d, &count, rows), NVML_SUCCESS);
		CHECK_EQ(count, 2u);
		CHECK_EQ(pid_in(form, rows, 0) + pid_in(form, rows, 1), one + other);
		CHECK(pid_in(form, rows, 0) == one || pid_in(form, rows, 0) == other);
		CHECK_EQ(rows[2 * form->row], CANARY);
	}
}

static void account(nvmlDevice_t d, unsigned pid, bool own)
{
	const nvmlReturn_t want = own ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
	nvmlAccountingStats_v2_t second = {.pid = pid};
	nvmlAccountingStats_t first = {.time = 7};
	struct timespec now;

	CHECK_EQ(ML(nvmlDeviceGetAccountingStats)(d, pid, &first), want);
	CHECK_EQ(ML(nvmlDeviceGetAccountingStats_v2)(d, &second), want);
	if (!own) {
		CHECK_EQ(first.time, 7ull);
		CHECK_EQ(second.maxMemoryUsage, 0ull);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	/* Context, spare grain, and both blocks before one was freed. */
	CHECK_EQ(first.maxMemoryUsage, 602 * MIB);
	CHECK_EQ(first.isRunning, 1u);
	CHECK_EQ(first.time, 0ull);
	CHECK_EQ(first.gpuUtilization, ~0u);
	CHECK_LE(first.startTime, (unsigned long long)now.tv_sec * 1000000 + 1000000);
	CHECK_GE(first.startTime, (unsigned long long)now.tv_sec * 1000000 - 60000000);
	CHECK_EQ(second.pid, pid);
	CHECK_EQ(second.maxMemoryUsage, 602 * MIB);
	CHECK_EQ(second.isRunning, 1u);
	CHECK_EQ(second.time, 0ull);
}

/* pids: two of the own tenant and one of another; 0 0: the own has none. */
static int look(char **pids)
{
	const unsigned one = (unsigned)atoi(pids[0]), other = (unsigned)atoi(pids[1]);
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		printf("%s\n", forms[i].name);
		fflush(stdout);
		read_form(&forms[i], device, one, other);
	}
	if (one) {
		account(device, one, true);
		account(device, other, true);
	}
	account(device, (unsigned)atoi(pids[2]), false);
	account(device, (unsigned)getpid(), false);
	return 0;
}

static struct client holder(const char *tenant)
{
	const char *const self[] = {"/proc/self/exe", "hold", NULL};
	const char *const env[] = {tenant, NULL};
	struct client c = client_capped(self, env);

	CLIENT_SAYS(&c, "ready");
	return c;
}

static void see(const char *tenant, int one, int other, int foreign)
{
	char pids[3][16];
	const char *const self[] = {"/proc/self/exe", "look", pids[0], pids[1], pids[2], NULL};
	const char *const env[] = {tenant, NULL};
	struct client c;

	snprintf(pids[0], sizeof(pids[0]), "%d", one);
	snprintf(pids[1], sizeof(pids[1]), "%d", other);
	snprintf(pids[2], sizeof(pids[2]), "%d", foreign);
	c = client_capped(self, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	struct client a, b, x, y;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "300M", 1);
	setenv("SIMGPU_ACCOUNTING", "on", 1);
	setenv("SIMGPU_SESSIONS", "on", 1);
	setenv("CUQUOTA_MEMORY_LIMIT", "4G", 1);
	if (argc > 1)
		return strcmp(argv[1], "look") ? hold() : look(argv + 2);
	a = holder("CUQUOTA_TENANT=one");
	x = holder("CUQUOTA_TENANT=two");
	b = holder("CUQUOTA_TENANT=one");
	y = holder("CUQUOTA_TENANT=two");
	see("CUQUOTA_TENANT=one", a.pid, b.pid, x.pid);
	see("CUQUOTA_TENANT=two", x.pid, y.pid, b.pid);
	see("CUQUOTA_TENANT=three", 0, 0, a.pid);
	CHECK_EQ(client_wait(&a, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&b, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&x, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&y, DEADLINE_MS), 0);
	return 0;
}
