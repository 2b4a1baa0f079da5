/* A program that is not linked with the driver, opens it for itself alone and looks up each symbol,
 * sees the cap and the visible device alone. That it sees what a linked one sees:
 * preload_door_three_builds_agree.
 * report: HE-03 */
#include "doors/door.h"

static void *find(const char *symbol)
{
	static void *handle;

	if (!handle)
		handle = opened("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	return dlsym(handle, symbol);
}

static void client(void)
{
	CUdevice device = -1;
	size_t bytes = 0;
	int count = 0;

	CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)); /* nobody else brings it */
	sees_the_cap(find);
	CHECK_RC(REACH(find, cuDeviceGetCount)(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 1);
	CHECK_RC(REACH(find, cuDeviceGet)(&device, 1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_RC(REACH(find, cuDeviceGet)(&device, 0), CUDA_SUCCESS);
	CHECK_RC(REACH(find, cuDeviceTotalMem_v2)(&bytes, device), CUDA_SUCCESS);
	CHECK_EQ(bytes, 8 * GIB);
}

/* The hidden cards are smaller than the cap. */
int main(int argc, char **argv)
{
	static const char *const env[] = {"SIMGPU_DEVICES=4G,24G,2G", "CUQUOTA_VISIBLE_DEVICES=1",
					  NULL};

	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
