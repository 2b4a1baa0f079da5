/*
 * report: DL-02
 * An NVML whose start calls another exported start through the PLT, so through our hook: it returns
 * once, within 100 ms, and one stop ends what one start began. The same for a driver whose calls
 * can be interposed.
 */
#include "client.h"

static void start_and_stop(nvmlReturn_t (*start)(void))
{
	const int64_t begin = now_ms();
	unsigned count;

	CHECK_EQ(start(), NVML_SUCCESS);
	CHECK_LE(now_ms() - begin, (int64_t)100);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
}

static nvmlReturn_t with_flags(void)
{
	return ML(nvmlInitWithFlags)(0);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, "CUQUOTA_VISIBLE_DEVICES=0", "CUQUOTA_MEMORY_LIMIT=4G",
				   NULL};
	size_t free_bytes, total;
	unsigned count;
	CUcontext context;
	CUdevice device;

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("simgpu-plt"));
	start_capped(argv, env);
	start_and_stop(ML(nvmlInit_v2));
	start_and_stop(ML(nvmlInit));
	start_and_stop(with_flags);
	/* Starts count: two need two stops. */
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(with_flags(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemGetInfo_v2)(&free_bytes, &total), CUDA_SUCCESS);
	CHECK_EQ(total, 4ull << 30);
	return 0;
}
