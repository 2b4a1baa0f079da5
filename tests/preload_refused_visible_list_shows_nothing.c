/*
 * A visible list that is refused, or whose order cannot be told, shows nothing in CUDA and in NVML;
 * one line names the variable; under CUQUOTA_ON_ERROR=allow everything is shown.
 */
#include "client.h"

static int child(const char *want)
{
	unsigned count = 0;
	const int denied = !strcmp(want, "denied");

	CHECK_EQ(CU(cuInit)(0), denied ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS);
	CHECK_EQ(ML(nvmlInit_v2)(), denied ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS);
	CHECK_EQ(ML(nvmlInit)(), denied ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS);
	CHECK_EQ(ML(nvmlInitWithFlags)(0), denied ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count),
		 denied ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS);
	CHECK_EQ(count, denied ? 0u : 16u);
	return 0;
}

static void expect(const char *list, const char *on_error, const char *want, const char *said)
{
	const char *const argv[] = {"/proc/self/exe", want, NULL};
	char value[256], folder[PATH_MAX], text[4096] = "";
	const char *const env[] = {value, on_error, folder, "SIMGPU_DEVICES=16x1G", NULL};
	struct client c;
	int file;

	snprintf(value, sizeof(value), "CUQUOTA_VISIBLE_DEVICES=%s", list);
	snprintf(folder, sizeof(folder), "CUQUOTA_LOG_FILE=%s/log", getenv("TMPDIR"));
	c = client_capped(argv, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	file = open(strchr(folder, '=') + 1, O_RDONLY);
	CHECK_SYS(file);
	CHECK_GE((long)read(file, text, sizeof(text) - 1), 1L);
	close(file);
	unlink(strchr(folder, '=') + 1);
	if (!strstr(text, "CUQUOTA_VISIBLE_DEVICES") || !strstr(text, said))
		FAIL("said \"%s\", want \"%s\"", text, said);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return child(argv[1]);
	expect("gpu one", "CUQUOTA_ON_ERROR=deny", "denied", "gpu one");
	expect("gpu one", "CUQUOTA_ON_ERROR=allow", "shown", "gpu one");
	/* The simulated cards have different names, but some of 16 begin with the same digit. */
	expect("GPU-1,GPU-2,GPU-3,GPU-4,GPU-5,GPU-6,GPU-7,GPU-8,"
	       "GPU-9,GPU-a,GPU-b,GPU-c,GPU-d,GPU-e,GPU-f,GPU-0",
	       "CUQUOTA_ON_ERROR=deny", "denied", "write more of it");
	return 0;
}
