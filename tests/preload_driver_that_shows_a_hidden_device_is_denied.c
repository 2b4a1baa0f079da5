/*
 * Another thread sets CUDA_VISIBLE_DEVICES while the driver starts, so that the driver shows a device outside the list:
 * the start is denied, and so is every way to a device.
 */
#include "client.h"

#include <pthread.h>

static void *init(void *rc)
{
	*(CUresult *)rc = CU(cuInit)(0);
	return NULL;
}

int main(int argc, char **argv)
{
	/* CUDA's 0 is the last of NVML's. */
	const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=0,1", "SIMGPU_DEVICES=24G,16G,8G", "SIMGPU_DELAY=cuInit:300ms",
				   "CUDA_VISIBLE_DEVICES=0", "CUQUOTA_LOG=off", NULL};
	const int64_t until = now_ms() + DEADLINE_MS;
	pthread_t thread;
	CUdevice device;
	CUcontext context;
	int count;
	CUresult rc;

	start_capped(argv, env);
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
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_NOT_PERMITTED);
	return 0;
}
