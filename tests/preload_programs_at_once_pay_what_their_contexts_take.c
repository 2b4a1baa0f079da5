/*
 * Programs start at the same moment on a ledger that does not know yet what a context costs, under
 * a limit that holds all of their contexts, but not as many estimates: none is refused, and each
 * pays what its context takes. So does one that comes later.
 */
/* report: AC-04 */
#include "client.h"

#define MIB (1ull << 20)
#define PROGRAMS 6
#define EACH (302 * MIB) /* a context and the spare grain */

static int program(void)
{
	char line[64];

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	printf("started\n");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin) != NULL);
	context_now(0);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%llu\n", (unsigned long long)(total_now() - free_now()));
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "program", NULL};
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=300M",
				   "SIMGPU_DELAY=cuDevicePrimaryCtxRetain:100ms",
				   "CUQUOTA_MEMORY_LIMIT=2G", NULL};
	struct client all[PROGRAMS + 1];
	char want[32];

	if (argc > 1)
		return program();
	(void)argv;
	for (int i = 0; i < PROGRAMS; i++) {
		all[i] = client_capped(self, env);
		CLIENT_SAYS(&all[i], "started");
	}
	for (int i = 0; i < PROGRAMS; i++)
		client_say(&all[i], "go");
	for (int i = 0; i < PROGRAMS; i++)
		CLIENT_SAYS(&all[i], "ready");
	client_say(&all[0], "used?");
	snprintf(want, sizeof(want), "%llu", PROGRAMS * EACH);
	CLIENT_SAYS(&all[0], want);
	CHECK_EQ(client_wait(&all[0], DEADLINE_MS), 0);
	all[0] = client_capped(self, env);
	CLIENT_SAYS(&all[0], "started");
	client_say(&all[0], "go");
	CLIENT_SAYS(&all[0], "ready");
	client_say(&all[0], "used?");
	CLIENT_SAYS(&all[0], want);
	for (int i = 0; i < PROGRAMS; i++)
		CHECK_EQ(client_wait(&all[i], DEADLINE_MS), 0);
	return 0;
}
