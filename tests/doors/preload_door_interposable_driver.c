/* A driver whose inner calls and tables can be interposed hands out our own wrappers as its
 * functions: they are not taken for the real ones, and each byte is charged once. */
#include "doors/door.h"

static void *driver;
static bool resolver;

static void *find(const char *symbol)
{
	__typeof__(&cuGetProcAddress_v2) ask = (__typeof__(ask))dlsym(driver,
								      "cuGetProcAddress_v2");
	char name[96];
	void *pointer = NULL;

	if (!resolver)
		return dlsym(driver, symbol);
	snprintf(name, sizeof(name), "%s", symbol);
	if (strstr(name, "_v2"))
		*strstr(name, "_v2") = 0;
	CHECK_RC(ask(name, &pointer, 12000, 0, NULL), CUDA_SUCCESS);
	return pointer;
}

static void client(void)
{
	driver = opened("libcuda.so.1", RTLD_NOW);
	sees_the_cap(find);
	resolver = true;
	sees_the_cap(find);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	const char *const env[] = {path, NULL};

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", built("simgpu-plt"));
	if (argc < 2)
		return again_capped(env);
	client();
	return 0;
}
