/*
 * What a request below a grain is charged until the driver has answered is a matter of its own:
 * another process of the tenant is shown it only once a new grain is held, and no longer when it is
 * given back. A large request is shown from its begin, as it is certain to be held.
 */
#include "client.h"
#include "ledger_now.h"

#define MIB ((size_t)1 << 20)
#define LARGE (64 * MIB)
#define GRAIN (2 * MIB)

static int child(void)
{
	CUdeviceptr block[8];
	unsigned count = 0;
	char line[32];

	context_now(0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'f')
			CHECK_EQ(CU(cuMemFree_v2)(block[--count]), CUDA_SUCCESS);
		else
			CHECK_EQ(CU(cuMemAlloc_v2)(&block[count++], strtoul(line, NULL, 10)),
				 CUDA_SUCCESS);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

/* Let the other allocate: while the driver is at work the ledger counts `counted` more, and all
 * that while we are shown `shown` less. Returns what we are shown after it. */
static size_t during(const struct client *other, size_t bytes, size_t counted, size_t shown)
{
	const uint64_t before = ledger_used("t", NULL);
	const size_t room = free_now();
	const int64_t until = now_ms() + DEADLINE_MS;

	client_say(other, "%zu", bytes);
	while (ledger_used("t", NULL) != before + counted)
		if (now_ms() > until)
			FAIL("%zu bytes are never charged", bytes);
	for (int i = 0; i < 50; i++) {
		const size_t now = free_now();

		if (now != room - shown)
			FAIL("%zu of %zu bytes are free, want %zu less", now, room, shown);
	}
	CHECK_EQ(ledger_used("t", NULL), before + counted); /* it was still at it */
	CLIENT_SAYS(other, "done");
	return free_now();
}

static void freed(const struct client *other)
{
	client_say(other, "free");
	CLIENT_SAYS(other, "done");
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "child", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G", "CUQUOTA_TENANT=t",
				   "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=100M", NULL};
	const char *const slow[] = {"SIMGPU_DELAY=cuMemAlloc_v2:1s", NULL};
	struct client other;
	size_t room;

	if (argc > 1)
		return child();
	start_capped(argv, env);
	context_now(0);
	other = client_capped(self, slow);
	CLIENT_SAYS(&other, "ready");
	room = free_now();
	CHECK_EQ(during(&other, 4096, GRAIN, 0), room - GRAIN);
	CHECK_EQ(during(&other, 4096, GRAIN, 0), room - GRAIN);
	CHECK_EQ(during(&other, LARGE, LARGE, LARGE), room - GRAIN - LARGE);
	freed(&other);
	CHECK_EQ(free_now(), room - GRAIN);
	freed(&other);
	freed(&other);
	CHECK_EQ(free_now(), room);
	CHECK_EQ(client_wait(&other, DEADLINE_MS), 0);
	return 0;
}
