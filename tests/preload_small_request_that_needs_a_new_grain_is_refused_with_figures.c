/*
 * A request below a grain at a limit that holds the context only: the driver is tried, as the block
 * might lie in a grain that is paid for; it took a new one, which goes back, and the line says what
 * was asked and used, the limit, and who holds most.
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
	char log[4096], holder[64];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=302M", "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=300M", log, NULL};
	unsigned kept = 0;
	CUdeviceptr p;

	snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/log", getenv("TMPDIR"));
	start_capped(argv, env);
	context_now(0);
	/* The spare grain is paid for, and the first block goes there. */
	while (CU(cuMemAlloc_v2)(&p, 1000000) == CUDA_SUCCESS)
		CHECK_LE(++kept, 2u);
	said("limit reached on GPU-");
	said("asked 976.6 KiB for what needs a new grain, which was given back, used 302.0 MiB, "
	     "limit 302.0 MiB; pid ");
	snprintf(holder, sizeof(holder), "pid %d (", getpid());
	said(holder);
	said(") holds most of it, 302.0 MiB");
	return 0;
}
