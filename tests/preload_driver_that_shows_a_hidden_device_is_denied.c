/*
 * Another thread sets CUDA_VISIBLE_DEVICES while the driver starts, so that the driver shows a
 * device outside the list, be it an instance beside the one that is in it: the start is denied, and
 * so is every way to a device.
 */
#include "client.h"

#include <pthread.h>

static void *init(void *rc)
{
	*(CUresult *)rc = CU(cuInit)(0);
	return NULL;
}

/* `joins`: this process is capped; else its limit was refused and CUQUOTA_ON_ERROR allows.
 * `pci`: of what the driver shows. */
static int child(bool joins, const char *pci)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	pthread_t thread;
	CUdevice device;
	CUcontext context;
	char text[64];
	CUuuid uuid;
	int count;
	CUresult rc;

	CHECK_EQ(pthread_create(&thread, NULL, init, &rc), 0);
	while (!strcmp(getenv("CUDA_VISIBLE_DEVICES"), "0")) {
		CHECK_LE(now_ms(), until);
		usleep(200);
	}
	setenv("CUDA_VISIBLE_DEVICES", "0", 1);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(rc, CUDA_ERROR_NOT_PERMITTED);
	CHECK_STR(getenv("CUDA_VISIBLE_DEVICES"), "0");
	CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetByPCIBusId)(&device, pci), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetUuid_v2)(&uuid, 0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetUuid)(&uuid, 0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetName)(text, sizeof(text), 0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetPCIBusId)(text, sizeof(text), 0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuDeviceGetAttribute)(&count, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0),
		 CUDA_ERROR_NOT_PERMITTED);
	if (joins)
		CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_NOT_PERMITTED);
	return 0;
}

/* Where a card is; the name of the second of its instances. */
static void learn(unsigned index, char pci[32], char name[96])
{
	nvmlDevice_t card, device;
	nvmlPciInfo_t info;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(index, &card), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(card, &info), NVML_SUCCESS);
	snprintf(pci, 32, "%s", info.busId);
	if (!name)
		return;
	CHECK_EQ(ML(nvmlDeviceGetMigDeviceHandleByIndex)(card, 1, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetUUID)(device, name, 96), NVML_SUCCESS);
}

static void expect(const char *visible, const char *order, const char *limit, const char *on_error,
		   const char *pci)
{
	const char *const text[] = {visible, order, limit, on_error};
	static const char *const name[] = {"CUQUOTA_VISIBLE_DEVICES", "SIMGPU_CUDA_ORDER",
					   "CUQUOTA_MEMORY_LIMIT", "CUQUOTA_ON_ERROR"};
	const char *const self[] = {"/proc/self/exe", on_error, pci, NULL};
	char value[4][160];
	const char *const env[] = {value[0],
				   value[1],
				   value[2],
				   value[3],
				   "SIMGPU_DELAY=cuInit:300ms",
				   "CUDA_VISIBLE_DEVICES=0",
				   "CUQUOTA_LOG=off",
				   NULL};
	struct client c;

	for (int i = 0; i < 4; i++)
		snprintf(value[i], sizeof(value[i]), "%s=%s", name[i], text[i]);
	c = client_capped(self, env);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("visible %s, limit %s", visible, limit);
}

int main(int argc, char **argv)
{
	char second[96], pci[32];

	if (argc > 2)
		return child(!strcmp(argv[1], "deny"), argv[2]);
	setenv("SIMGPU_DEVICES", "24G,16G,8G", 1);
	setenv("SIMGPU_MIG", "0:10G+5G", 1);
	/* CUDA's 0 is the last of NVML's. */
	learn(2, pci, NULL);
	expect("0,1", "reverse", "4G", "deny", pci);
	expect("0,1", "reverse", "nonsense", "allow", pci);
	/* It is the first of the instances. */
	learn(0, pci, second);
	expect(second, "pci", "4G", "deny", pci);
	return 0;
}
