/*
 * A limit below one context: the context is tried, since nobody knows yet what it takes, given back
 * and refused, by a line that says what it took, what is used and the limit.
 */
#include "client.h"

static void said(const char *part)
{
	FILE *const log = fopen(getenv("CUQUOTA_LOG_FILE"), "re");
	char text[4096];
	size_t got;

	CHECK(log != NULL);
	got = fread(text, 1, sizeof(text) - 1, log);
	text[got] = '\0';
	fclose(log);
	if (!strstr(text, part))
		FAIL("no \"%s\" in:\n%s", part, text);
}

int main(int argc, char **argv)
{
	char log[4096];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=100M", "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=300M", log, NULL};
	CUcontext context;

	snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/log", getenv("TMPDIR"));
	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
	said("limit reached on GPU-");
	said("asked 300.0 MiB for a context, which was tried and given back, used ");
	said(", limit 100.0 MiB");
	return 0;
}
