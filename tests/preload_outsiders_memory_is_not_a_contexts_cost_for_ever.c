/*
 * A program that no ledger counts holds memory while a context is first measured, which then seems
 * to cost so much more. Once it is gone a program alone on the card pays what its own context
 * takes, also under a limit that does not hold what it seemed to cost, and so do the next beside
 * it.
 */
#include "client.h"

#define MIB (1ull << 20)
#define OUTSIDE (300 * MIB)
#define EACH (302 * MIB) /* a context and the spare grain */

static int program(void)
{
	char line[64];

	context_now(0);
	printf("%llu\n", (unsigned long long)(total_now() - free_now()));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}

static struct client begin(const char *outside, const char *limit, uint64_t used)
{
	const char *const self[] = {"/proc/self/exe", "program", NULL};
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=300M", outside, limit,
				   NULL};
	const struct client c = client_capped(self, env);
	char want[32];

	snprintf(want, sizeof(want), "%llu", (unsigned long long)used);
	CLIENT_SAYS(&c, want);
	return c;
}

int main(int argc, char **argv)
{
	struct client outsider, first, second;

	if (argc > 1)
		return program();
	(void)argv;
	outsider = begin("CUQUOTA_DISABLE=1", "CUQUOTA_MEMORY_LIMIT", OUTSIDE);
	first = begin("CUQUOTA_DISABLE", "CUQUOTA_MEMORY_LIMIT=4G", OUTSIDE + EACH);
	CHECK_EQ(client_wait(&outsider, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&first, DEADLINE_MS), 0);

	first = begin("CUQUOTA_DISABLE", "CUQUOTA_MEMORY_LIMIT=500M", EACH);
	CHECK_EQ(client_wait(&first, DEADLINE_MS), 0);
	first = begin("CUQUOTA_DISABLE", "CUQUOTA_MEMORY_LIMIT=4G", EACH);
	second = begin("CUQUOTA_DISABLE", "CUQUOTA_MEMORY_LIMIT=4G", 2 * EACH);
	CHECK_EQ(client_wait(&first, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&second, DEADLINE_MS), 0);
	return 0;
}
