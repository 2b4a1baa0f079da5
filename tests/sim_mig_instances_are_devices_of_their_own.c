/*
 * A card divided by SIMGPU_MIG: NVML finds each instance by both names, by index and by its card;
 * CUDA sees one, with its size as the bound; the card shows what its instances use together. An
 * old driver says the old names.
 */
#include "sim_driver.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

static void *ml;

#define NVML(name) ((__typeof__(&name))dlsym(ml, #name))
#define GOOD(call) CHECK_EQ((int)(call), NVML_SUCCESS)

struct row {
	const char *visible;
	long long total;   /* GiB; 0: no device */
	long long managed; /* GiB, beside */
};

static char names[3][80], old[3][80], gpu[2][80];

/* Holds half a GiB in what `visible` names. */
static int user(void *arg)
{
	const struct row *const row = arg;
	size_t total = 0, left = 0;
	CUdeviceptr p;
	int count;

	if (row->visible)
		setenv("CUDA_VISIBLE_DEVICES", row->visible, 1);
	driver_load();
	if (!row->total) {
		CHECK_EQ(cu.cuInit(0), CUDA_ERROR_NO_DEVICE);
		return 0;
	}
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 1);
	CHECK_EQ(cu.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
	CHECK_EQ(total, row->total * GIB);
	CHECK_EQ(cu.cuCtxCreate_v2(&(CUcontext){0}, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemGetInfo_v2(&left, &total), CUDA_SUCCESS);
	CHECK_EQ(total, row->total * GIB);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, left + 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, GIB / 2), CUDA_SUCCESS);
	if (row->managed)
		CHECK_EQ(cu.cuMemAllocManaged(&p, row->managed * GIB, CU_MEM_ATTACH_GLOBAL),
			 CUDA_SUCCESS);
	dprintf(1, "ready\n");
	for (;;)
		pause();
}

static void learn(const char *first, const char *second)
{
	unsigned i, k, at;
	nvmlDevice_t card, d, e;

	GOOD(NVML(nvmlInit_v2)());
	GOOD(NVML(nvmlDeviceGetCount_v2)(&k));
	CHECK_EQ(k, 2);
	for (i = 0; i < 2; i++) {
		GOOD(NVML(nvmlDeviceGetHandleByIndex_v2)(i, &card));
		GOOD(NVML(nvmlDeviceGetUUID)(card, gpu[i], sizeof(gpu[i])));
		GOOD(NVML(nvmlDeviceGetMigMode)(card, &k, &at));
		CHECK_EQ(k, !i);
		GOOD(NVML(nvmlDeviceGetMaxMigDeviceCount)(card, &k));
		CHECK_EQ(k, i ? 0 : 7);
		CHECK_EQ((int)NVML(nvmlDeviceGetMigDeviceHandleByIndex)(card, i ? 0 : 3, &d),
			 NVML_ERROR_NOT_FOUND);
	}
	GOOD(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &card));
	for (i = 0; i < 3; i++) {
		nvmlDeviceAttributes_t attributes;
		const char *const starts = strcmp(first, "MIG-GPU-") ? first : second;

		GOOD(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(card, i, &d));
		GOOD(NVML(nvmlDeviceGetUUID)(d, names[i], sizeof(names[i])));
		CHECK_EQ(strncmp(names[i], first, strlen(first)), 0);
		GOOD(NVML(nvmlDeviceGetGpuInstanceId)(d, &k));
		GOOD(NVML(nvmlDeviceGetComputeInstanceId)(d, &at));
		snprintf(old[i], sizeof(old[i]), "MIG-%.48s/%u/%u", gpu[0], k, at);
		GOOD(NVML(nvmlDeviceGetHandleByUUID)(old[i], &e));
		CHECK(e == d);
		GOOD(NVML(nvmlDeviceGetHandleByUUID)(names[i], &e));
		CHECK(e == d);
		if (starts == second)
			CHECK_STR(names[i], old[i]);
		GOOD(NVML(nvmlDeviceIsMigDeviceHandle)(d, &k));
		CHECK_EQ(k, 1);
		GOOD(NVML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(d, &e));
		CHECK(e == card);
		GOOD(NVML(nvmlDeviceGetAttributes_v2)(d, &attributes));
		CHECK_EQ(attributes.memorySizeMB, i ? 5 * 1024 : 10 * 1024);
		CHECK_EQ((int)NVML(nvmlDeviceGetMinorNumber)(d, &k), NVML_ERROR_INVALID_ARGUMENT);
	}
}

static unsigned long long used(const char *name)
{
	nvmlMemory_t memory;
	nvmlDevice_t d;

	GOOD(NVML(nvmlDeviceGetHandleByUUID)(name, &d));
	GOOD(NVML(nvmlDeviceGetMemoryInfo)(d, &memory));
	return memory.used / MIB;
}

/* `arg`: the version of the driver. */
static int look(void *arg)
{
	const bool is_old = arg != NULL;
	unsigned count = 4;
	nvmlProcessInfo_t info[4];
	nvmlDevice_t d;

	if (is_old)
		setenv("SIMGPU_VERSION", arg, 1);
	ml = dlopen(built("simgpu/libnvidia-ml.so.1"), RTLD_NOW);
	CHECK(ml);
	learn(is_old ? "MIG-GPU-" : "MIG-", is_old ? "MIG-GPU-" : "none");
	if (is_old)
		return 0;
	for (int i = 0; i < 3; i++)
		printf("%s\n%s\n", names[i], old[i]);
	printf("%s\n%s\n", gpu[0], gpu[1]);
	fflush(stdout);
	CHECK_EQ(getchar(), '\n');
	CHECK_EQ(used(names[0]), 512);
	CHECK_EQ(used(names[1]), 5 * 1024);
	CHECK_EQ(used(old[2]), 0);
	CHECK_EQ(used(gpu[0]), 512 + 5 * 1024);
	GOOD(NVML(nvmlDeviceGetHandleByUUID)(gpu[0], &d));
	GOOD(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(d, &count, info));
	CHECK_EQ(count, 2);
	CHECK(info[0].gpuInstanceId != info[1].gpuInstanceId);
	GOOD(NVML(nvmlDeviceGetHandleByUUID)(names[1], &d));
	GOOD(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(d, &count, info));
	CHECK_EQ(count, 1);
	return 0;
}

static char before_r470[] = "11030";

int main(void)
{
	struct client viewer, c[2];
	char two[256], twice[256], prefix[24];

	one_card("24G,16G");
	setenv("SIMGPU_MIG", "0:10G+5G+5G", 1);
	c[0] = client_fork(look, before_r470);
	CHECK_EQ(client_wait(&c[0], DEADLINE_MS), 0);
	viewer = client_fork(look, NULL);
	for (int i = 0; i < 3; i++) {
		strcpy(names[i], client_line(&viewer, DEADLINE_MS));
		strcpy(old[i], client_line(&viewer, DEADLINE_MS));
	}
	for (int i = 0; i < 2; i++)
		strcpy(gpu[i], client_line(&viewer, DEADLINE_MS));
	snprintf(two, sizeof(two), "%s,%s,%s", names[2], names[0], gpu[1]);
	snprintf(twice, sizeof(twice), "%s,%s", gpu[0], names[0]);
	snprintf(prefix, sizeof(prefix), "%.12s", names[1]);
	const struct row rows[] = {
		{NULL, 10, 0},
		{"0", 16, 0},
		{"1", 10, 0},
		{"1,0", 10, 0},
		{names[1], 5, 0},
		{old[0], 10, 0},
		{old[2], 5, 0},
		{gpu[0], 10, 0},
		{gpu[1], 16, 0},
		{two, 5, 0},
		{twice, 0, 0},
		{prefix, 5, 0},
		{"MIG-GPU-", 0, 0},
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c[0] = client_fork(user, (void *)(uintptr_t)&rows[i]);
		if (rows[i].total) {
			const char *const line = client_line(&c[0], DEADLINE_MS);

			if (!line || strcmp(line, "ready"))
				FAIL("CUDA_VISIBLE_DEVICES=%s", rows[i].visible);
			client_kill(&c[0], SIGKILL);
		} else if (client_wait(&c[0], DEADLINE_MS)) {
			FAIL("CUDA_VISIBLE_DEVICES=%s", rows[i].visible);
		}
	}
	/* Managed memory beyond an instance is not on its card. */
	const struct row more = {names[1], 5, 6};

	c[0] = client_fork(user, (void *)(uintptr_t)&rows[0]);
	c[1] = client_fork(user, (void *)(uintptr_t)&more);
	for (int i = 0; i < 2; i++)
		CHECK_STR(client_line(&c[i], DEADLINE_MS), "ready");
	client_say(&viewer, "%s", "");
	CHECK_EQ(client_wait(&viewer, DEADLINE_MS), 0);
	for (int i = 0; i < 2; i++)
		client_kill(&c[i], SIGKILL);
	return 0;
}
