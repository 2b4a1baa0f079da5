/*
 * report: HE-05
 * LD_LIBRARY_PATH leads to a second copy of the driver and of NVML: the list of visible devices
 * holds there too.
 */
#include "client.h"

static void copy(const char *name)
{
	char line[2 * PATH_MAX + 64];

	snprintf(line, sizeof(line), "cp %s %s/%s", built(name), getenv("TMPDIR"),
		 strrchr(name, '/') + 1);
	CHECK_EQ(system(line), 0);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, "CUQUOTA_VISIBLE_DEVICES=1",
				   "CUQUOTA_MEMORY_LIMIT=3G", "SIMGPU_DEVICES=24G,16G,8G", NULL};
	const char *const folder = getenv("TMPDIR");
	unsigned nvml_count = 0;
	nvmlMemory_t memory;
	nvmlDevice_t device;
	int count = 0;
	Dl_info info;

	if (!getenv("TEST_STARTED")) {
		copy("simgpu/libcuda.so.1");
		copy("simgpu/libnvidia-ml.so.1");
	}
	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s:%s", folder, built("simgpu"));
	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 1);
	context_now(0);
	CHECK_EQ(total_now(), 3ull << 30);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&nvml_count), NVML_SUCCESS);
	CHECK_EQ(nvml_count, 1u);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(1, &device), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
	CHECK_EQ(memory.total, 3ull << 30);
	/* A name that is not interposed leads into the copy. */
	CHECK(dladdr(symbol_of("libnvidia-ml.so.1", "nvmlErrorString"), &info));
	CHECK_EQ(strncmp(info.dli_fname, folder, strlen(folder)), 0);
	return 0;
}
