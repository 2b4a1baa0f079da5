/*
 * Another thread sets CUDA_VISIBLE_DEVICES while the driver starts, so that the driver shows a
 * device outside the list: the start is denied, and so is every way to a device.
 */
#include "client.h"

#include <pthread.h>

static void *init(void *rc)
{
	*(CUresult *)rc = CU(cuInit)(0);
	return NULL;
}

/* `joins`: this process is capped; else its limit was refused and CUQUOTA_ON_ERROR allows. */
static int child(bool joins)
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
	CHECK_EQ(CU(cuDeviceGetByPCIBusId)(&device, "0000:17:00.0"), CUDA_ERROR_NOT_PERMITTED);
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

int main(int argc, char **argv)
{
	static const char *const limits[][2] = {{"4G", "deny"}, {"nonsense", "allow"}};

	if (argc > 1)
		return child(!strcmp(argv[1], "deny"));
	for (int i = 0; i < 2; i++) {
		char limit[64], on_error[64];
		const char *const self[] = {"/proc/self/exe", limits[i][1], NULL};
		/* CUDA's 0 is the last of NVML's. */
		const char *const env[] = {limit,
					   on_error,
					   "CUQUOTA_VISIBLE_DEVICES=0,1",
					   "SIMGPU_DEVICES=24G,16G,8G",
					   "SIMGPU_DELAY=cuInit:300ms",
					   "CUDA_VISIBLE_DEVICES=0",
					   "CUQUOTA_LOG=off",
					   NULL};
		struct client c;

		snprintf(limit, sizeof(limit), "CUQUOTA_MEMORY_LIMIT=%s", limits[i][0]);
		snprintf(on_error, sizeof(on_error), "CUQUOTA_ON_ERROR=%s", limits[i][1]);
		c = client_capped(self, env);
		CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	}
	return 0;
}
