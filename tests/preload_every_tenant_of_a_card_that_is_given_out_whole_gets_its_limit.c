/*
 * report: WN-05
 * Three tenants, whose limits are the whole card between them, of two programs each, whose contexts
 * take 350 MiB each: what they take is their tenant's, so that each tenant gets all that it is
 * shown as free, also the one who comes last to a card that the others have filled, and all three
 * that fill it at once; then it is refused by its limit, and the card was never overfull.
 */
#include "client.h"
#include "simgpu/truth.h"

#define MIB (1ull << 20)
#define TENANTS 3
#define PROGRAMS 2
#define LIMIT (8ull << 30)
#define CHUNK (700 * MIB)
#define CONTEXT (350 * MIB)
#define SPARE (2 * MIB) /* a grain, which each program's context has paid for in advance */

/* Takes all that is shown as free. */
static void fill(void)
{
	size_t left;

	CHECK_EQ((unsigned long long)total_now(), LIMIT);
	while ((left = free_now())) {
		CUdeviceptr p;
		const CUresult rc = CU(cuMemAlloc_v2)(&p, left < CHUNK ? left : CHUNK);

		if (rc != CUDA_SUCCESS)
			FAIL("%d, with %zu bytes shown as free", rc, left);
	}
}

/* Goes line by line: "fill", "refused". */
static int program(void)
{
	char line[16];
	CUdeviceptr p;

	context_now(0);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'f')
			fill();
		CHECK_EQ((unsigned long long)free_now(), 0ull);
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, CHUNK), CUDA_ERROR_OUT_OF_MEMORY);
		printf("full\n");
		fflush(stdout);
	}
	return 0;
}

static struct client all[TENANTS][PROGRAMS];

static void start(unsigned tenant)
{
	const char *const self[] = {"/proc/self/exe", "program", NULL};
	char name[32], tag[32];
	const char *const env[] = {name, tag, "CUQUOTA_MEMORY_LIMIT=8G", "CUQUOTA_LOG=off", NULL};

	snprintf(name, sizeof(name), "CUQUOTA_TENANT=t%u", tenant);
	snprintf(tag, sizeof(tag), "SIMGPU_TAG=t%u", tenant);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		all[tenant][i] = client_capped(self, env);
		CLIENT_SAYS(&all[tenant][i], "ready");
	}
}

static void filled(unsigned tenant)
{
	char tag[32];

	CLIENT_SAYS(&all[tenant][0], "full");
	client_say(&all[tenant][1], "refused");
	CLIENT_SAYS(&all[tenant][1], "full");
	snprintf(tag, sizeof(tag), "t%u", tenant);
	CHECK_EQ(truth_held(NULL, 0, tag), (int64_t)(LIMIT - PROGRAMS * SPARE));
}

static void end(void)
{
	CHECK_EQ(truth_resident(NULL, 0), (int64_t)(TENANTS * (LIMIT - PROGRAMS * SPARE)));
	for (unsigned tenant = 0; tenant < TENANTS; tenant++)
		for (unsigned i = 0; i < PROGRAMS; i++)
			CHECK_EQ(client_wait(&all[tenant][i], DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "350M", 1);
	if (argc > 1)
		return program();
	for (unsigned tenant = 0; tenant < TENANTS; tenant++) {
		start(tenant);
		client_say(&all[tenant][0], "fill");
		filled(tenant);
	}
	end();
	for (unsigned tenant = 0; tenant < TENANTS; tenant++)
		start(tenant);
	for (unsigned tenant = 0; tenant < TENANTS; tenant++)
		client_say(&all[tenant][0], "fill");
	for (unsigned tenant = 0; tenant < TENANTS; tenant++)
		filled(tenant);
	end();
	(void)argv;
	return 0;
}
