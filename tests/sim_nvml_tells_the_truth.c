/*
 * NVML: all cards in PCI order, found by every kind of name; memory and process lists are the
 * ground truth of the whole card, in each layout; init is counted.
 */
#include "sim_driver.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void *ml;

#define NVML(name) ((__typeof__(&name))dlsym(ml, #name))
#define GOOD(call) CHECK_EQ((int)(call), NVML_SUCCESS)

static char tag_a[] = "a", tag_b[] = "b";

static int user(void *arg)
{
	CUdeviceptr p;

	driver_start(arg);
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 10 * MIB), CUDA_SUCCESS);
	dprintf(1, "ready\n");
	for (;;)
		pause();
}

static void identities(void)
{
	unsigned int count, i, k, other;
	char text[96], serial[32];
	nvmlPciInfo_t pci, older;
	nvmlDevice_t d, e;

	GOOD(NVML(nvmlDeviceGetCount_v2)(&count));
	CHECK_EQ(count, 3);
	for (i = 0; i < count; i++) {
		nvmlUUID_t uuid = {.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_ASCII};

		GOOD(NVML(nvmlDeviceGetHandleByIndex_v2)(i, &d));
		GOOD(NVML(nvmlDeviceGetIndex)(d, &k));
		CHECK_EQ(k, i);
		GOOD(NVML(nvmlDeviceGetUUID)(d, text, sizeof(text)));
		CHECK_EQ(strlen(text), 40);
		GOOD(NVML(nvmlDeviceGetHandleByUUID)(text, &e));
		CHECK(d == e);
		strcpy(uuid.value.str, text);
		GOOD(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &e));
		CHECK(d == e);
		uuid.version = 1;
		CHECK_EQ((int)NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &e),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
		CHECK_EQ((int)NVML(nvmlDeviceGetUUID)(d, text, 40), NVML_ERROR_INSUFFICIENT_SIZE);
		GOOD(NVML(nvmlDeviceGetSerial)(d, serial, sizeof(serial)));
		GOOD(NVML(nvmlDeviceGetHandleBySerial)(serial, &e));
		CHECK(d == e);
		GOOD(NVML(nvmlDeviceGetPciInfo_v3)(d, &pci));
		GOOD(NVML(nvmlDeviceGetHandleByPciBusId_v2)(pci.busId, &e));
		CHECK(d == e);
		GOOD(NVML(nvmlDeviceGetHandleByPciBusId_v2)(pci.busIdLegacy, &e));
		CHECK(d == e);
		memset(&older, 0xaa, sizeof(older));
		GOOD(NVML(nvmlDeviceGetPciInfo)(d, &older));
		CHECK_STR(older.busIdLegacy, pci.busIdLegacy);
		CHECK_EQ((unsigned char)older.busId[0], 0xaa); /* it ends before */
		for (other = 0; other < i; other++) {
			nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;

			GOOD(NVML(nvmlDeviceGetHandleByIndex_v2)(other, &e));
			GOOD(NVML(nvmlDeviceGetP2PStatus)(d, e, NVML_P2P_CAPS_INDEX_READ, &status));
			CHECK_EQ((int)status, NVML_P2P_STATUS_OK);
			GOOD(NVML(nvmlDeviceGetPciInfo_v3)(e, &older));
			CHECK_LE(older.bus + 1, pci.bus);
		}
	}
	CHECK_EQ((int)NVML(nvmlDeviceGetHandleByIndex_v2)(3, &d), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ((int)NVML(nvmlDeviceGetHandleByUUID)("GPU-1", &d), NVML_ERROR_NOT_FOUND);
	CHECK_EQ((int)NVML(nvmlDeviceGetName)((nvmlDevice_t)&count, text, 96),
		 NVML_ERROR_INVALID_ARGUMENT);
}

static void memory_is(nvmlDevice_t d, const int64_t total, const int64_t used)
{
	nvmlMemory_v2_t two = {.version = nvmlMemory_v2};
	nvmlMemory_t one;

	GOOD(NVML(nvmlDeviceGetMemoryInfo)(d, &one));
	CHECK_EQ(one.total, total);
	CHECK_EQ(one.used, used);
	CHECK_EQ(one.free, total - used);
	GOOD(NVML(nvmlDeviceGetMemoryInfo_v2)(d, &two));
	CHECK_EQ(two.total, total);
	CHECK_EQ(two.used, used);
	CHECK_EQ(two.free, total - used);
	CHECK_EQ(two.reserved, 0);
	two.version = 2;
	CHECK_EQ((int)NVML(nvmlDeviceGetMemoryInfo_v2)(d, &two),
		 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

int main(void)
{
	nvmlProcessInfo_v1_t v1[4];
	nvmlProcessInfo_v2_t v2[4];
	struct client a, b;
	unsigned int count;
	nvmlDevice_t d;

	one_card("24G,16G,8G");
	ml = dlopen(built("simgpu/libnvidia-ml.so.1"), RTLD_NOW);
	CHECK(ml);
	CHECK_EQ((int)NVML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ((int)NVML(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
	GOOD(NVML(nvmlInit_v2)());
	GOOD(NVML(nvmlInitWithFlags)(0));
	GOOD(NVML(nvmlShutdown)());
	identities();
	/* Ordinal 0 of CUDA is the last card here. */
	GOOD(NVML(nvmlDeviceGetHandleByIndex_v2)(2, &d));
	memory_is(d, 8 * GIB, 0);
	a = client_fork(user, tag_a);
	CLIENT_SAYS(&a, "ready");
	b = client_fork(user, tag_b);
	CLIENT_SAYS(&b, "ready");
	memory_is(d, 8 * GIB, 20 * MIB);
	count = 0;
	CHECK_EQ((int)NVML(nvmlDeviceGetComputeRunningProcesses_v3)(d, &count, NULL),
		 NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(count, 2);
	count = 4;
	GOOD(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(d, &count, v2));
	CHECK_EQ(count, 2);
	CHECK_EQ(v2[0].pid + v2[1].pid, (unsigned)(a.pid + b.pid));
	CHECK_EQ(v2[1].usedGpuMemory, 10 * MIB);
	GOOD(NVML(nvmlDeviceGetComputeRunningProcesses_v2)(d, &count, v2));
	count = 4;
	GOOD(NVML(nvmlDeviceGetComputeRunningProcesses)(d, &count, v1));
	CHECK_EQ(v1[1].pid, v2[1].pid);
	CHECK_EQ(v1[1].usedGpuMemory, 10 * MIB);
	client_kill(&a, SIGKILL);
	client_wait(&a, DEADLINE_MS);
	memory_is(d, 8 * GIB, 10 * MIB);
	client_kill(&b, SIGKILL);
	client_wait(&b, DEADLINE_MS);
	memory_is(d, 8 * GIB, 0);
	GOOD(NVML(nvmlShutdown)());
	CHECK_EQ((int)NVML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
	return 0;
}
