/*
 * build/simgpu-plt can be interposed in its inner calls, as the driver of field report DL-02
 * could: there both inits of NVML call each other, and cuInit itself. Counted once each,
 * without an end in recursion.
 */
#include "sim_driver.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

int main(void)
{
	void *const ml = dlopen(built("simgpu-plt/libnvidia-ml.so.1"), RTLD_NOW);
	unsigned int count;

	one_card("1G");
	CHECK(ml);
	CHECK_EQ((int)((__typeof__(&nvmlInit_v2))dlsym(ml, "nvmlInit_v2"))(), 0);
	CHECK_EQ((int)((__typeof__(&nvmlInitWithFlags))dlsym(ml, "nvmlInitWithFlags"))(0), 0);
	CHECK_EQ((int)((__typeof__(&nvmlShutdown))dlsym(ml, "nvmlShutdown"))(), 0);
	CHECK_EQ((int)((__typeof__(&nvmlDeviceGetCount_v2))dlsym(ml, "nvmlDeviceGetCount_v2"))(
			 &count),
		 0);
	CHECK_EQ((int)((__typeof__(&nvmlShutdown))dlsym(ml, "nvmlShutdown"))(), 0);
	CHECK_EQ((int)((__typeof__(&nvmlShutdown))dlsym(ml, "nvmlShutdown"))(),
		 NVML_ERROR_UNINITIALIZED);
	driver_load_from("simgpu-plt/libcuda.so.1");
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cu.cuInit(1), CUDA_ERROR_INVALID_VALUE);
	return 0;
}
