/*
 * report: SS-04
 * A process without settings, one with 1 GiB and one with 2 GiB of one tenant start in every order:
 * nobody ever has a looser limit than its own setting, and who brings another than what holds is
 * told both values, whether it is its own that holds for all now or not.
 */
#include "client.h"

#define MIB (1ull << 20)

static int child(void)
{
	char line[16];
	CUdeviceptr p;

	context_now(0);
	printf("%zu\n", total_now());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		CUresult rc;

		/* Its own limit holds for its allocations too. */
		rc = CU(cuMemAlloc_v2)(&p, total_now() + 2 * MIB);
		CHECK_EQ(rc, CUDA_ERROR_OUT_OF_MEMORY);
		printf("%zu\n", total_now());
		fflush(stdout);
	}
	return 0;
}

static const unsigned long long brings[] = {24576 * MIB, 1024 * MIB, 2048 * MIB};
static const char *const setting[] = {"CUQUOTA_MEMORY_LIMIT", "CUQUOTA_MEMORY_LIMIT=1G",
				      "CUQUOTA_MEMORY_LIMIT=2G"};

static void read_log(const char *path, char text[4096])
{
	const int file = open(path, O_RDONLY);
	long n = 0;

	if (file >= 0) {
		n = read(file, text, 4095);
		CHECK_GE(n, 0L);
		close(file);
	}
	text[n] = 0;
}

static void run(const int order[3])
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	unsigned long long holds = brings[0];
	struct client c[3];
	char text[4096];

	for (int i = 0; i < 3; i++) {
		char tenant[64], log[PATH_MAX];
		const char *const env[] = {tenant, log, setting[order[i]], NULL};
		const unsigned long long own = brings[order[i]];
		const bool conflict = i && order[i] && own > holds;
		const bool lowers = i && own < holds;
		char lowered[160];

		snprintf(tenant, sizeof(tenant), "CUQUOTA_TENANT=t%d%d%d", order[0], order[1],
			 order[2]);
		snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/%d%d%d.%d", getenv("TMPDIR"),
			 order[0], order[1], order[2], i);
		c[i] = client_capped(self, env);
		snprintf(lowered, sizeof(lowered),
			 "lowers the limit of tenant t%d%d%d from %s to %s GiB", order[0], order[1],
			 order[2], holds == brings[0] ? "none" : "2.0 GiB",
			 own == brings[1] ? "1.0" : "2.0");
		if (own < holds)
			holds = own;
		CHECK_EQ(strtoull(client_line(&c[i], DEADLINE_MS), NULL, 10), holds);
		read_log(strchr(log, '=') + 1, text);
		if (conflict && (!strstr(text, "stays 1.0 GiB") || !strstr(text, "2.0 GiB") ||
				 !strstr(text, "--tenant (CUQUOTA_TENANT)")))
			FAIL("the conflict is reported as \"%s\"", text);
		if (lowers && (!strstr(text, lowered) || !strstr(text, "(CUQUOTA_TENANT)")))
			FAIL("no \"%s\" in \"%s\"", lowered, text);
		if (!conflict && !lowers && *text)
			FAIL("number %d says \"%s\"", i, text);
		/* And the earlier ones now. */
		for (int k = 0; k <= i; k++) {
			client_say(&c[k], "again");
			CHECK_EQ(strtoull(client_line(&c[k], DEADLINE_MS), NULL, 10), holds);
		}
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(client_wait(&c[i], DEADLINE_MS), 0);
}

/* Who was killed is nobody whose limit could be lowered. */
static void run_after_the_dead(void)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	char log[PATH_MAX], text[4096];
	const char *const first[] = {"CUQUOTA_TENANT=dead", setting[2], NULL};
	const char *const next[] = {"CUQUOTA_TENANT=dead", log, setting[1], NULL};
	struct client c = client_capped(self, first);

	client_line(&c, DEADLINE_MS);
	client_kill(&c, SIGKILL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 128 + SIGKILL);
	snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/dead", getenv("TMPDIR"));
	c = client_capped(self, next);
	CHECK_EQ(strtoull(client_line(&c, DEADLINE_MS), NULL, 10), brings[1]);
	read_log(strchr(log, '=') + 1, text);
	if (*text)
		FAIL("after a dead one: \"%s\"", text);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "64M", 1);
	if (argc > 1)
		return child();
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			if (a != b)
				run((const int[]){a, b, 3 - a - b});
	run_after_the_dead();
	return 0;
}
