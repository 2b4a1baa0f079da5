/* Where there is no driver our exports, called by hand, answer that there is none; nothing is
 * called through NULL. */
#include "doors/door.h"

static void client(void)
{
	void *const self = opened(built("libcuquota.so"), RTLD_NOW | RTLD_NOLOAD);
	CUdeviceptr pointer;
	void *found = NULL;

	CHECK(!dlopen("libcuda.so.1", RTLD_NOW));
	CHECK(!dlsym(RTLD_DEFAULT, "cuInit"));
	CHECK(!dlsym(dlopen(NULL, RTLD_NOW), "cuInit"));
	CHECK_RC(((__typeof__(&cuInit))dlsym(self, "cuInit"))(0), CUDA_ERROR_NO_DEVICE);
	CHECK_NE((int)((__typeof__(&cuMemAlloc_v2))dlsym(self, "cuMemAlloc_v2"))(&pointer, 1),
		 CUDA_SUCCESS);
	CHECK_RC(((__typeof__(&cuGetProcAddress))dlsym(self, "cuGetProcAddress"))("cuInit", &found,
										  12000, 0),
		 CUDA_ERROR_NO_DEVICE);
	CHECK(!found);
	CHECK_EQ(((int (*)(void))dlsym(self, "nvmlInit_v2"))(),
		 12 /* NVML_ERROR_LIBRARY_NOT_FOUND */);
}

int main(int argc, char **argv)
{
	static const char *const env[] = {"LD_LIBRARY_PATH=", NULL};

	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
