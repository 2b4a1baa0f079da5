/*
 * Cycles of five programs that hold managed, pinned and device memory and are killed with SIGKILL
 * at any moment: within 1 s what a survivor of the tenant is shown, and what the ledger says, is
 * what it was before, as is what the simulated card holds. Nothing adds up over the cycles.
 *
 * report: SS-05
 */
#include "client.h"
#include "ledger_now.h"
#include "simgpu/truth.h"

#define MIB (1ull << 20)
#define VICTIMS 5
#define HELD 64

static uint64_t below(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

struct item {
	int kind;
	CUdeviceptr pointer;
	void *host;
};

static CUresult take(struct item *item, uint64_t *state)
{
	item->kind = (int)below(state, 4);
	switch (item->kind) {
	case 0:
		return CU(cuMemAllocManaged)(&item->pointer, 1 + below(state, 24 * MIB),
					     CU_MEM_ATTACH_GLOBAL);
	case 1:
		return CU(cuMemHostAlloc)(&item->host, 1 + below(state, MIB), 0);
	case 2:
		return CU(cuMemAlloc_v2)(&item->pointer, 1 + below(state, 24 * MIB));
	}
	return CU(cuMemAlloc_v2)(&item->pointer, 1 + below(state, 100000));
}

__attribute__((noreturn)) static void victim(uint64_t state)
{
	struct item item[HELD] = {0};
	bool taken[HELD] = {0};

	context_now(0);
	for (int steps = 0;; steps++) {
		const unsigned i = (unsigned)below(&state, HELD);

		if (!taken[i])
			taken[i] = take(&item[i], &state) == CUDA_SUCCESS;
		else if (item[i].kind == 1)
			taken[i] = CU(cuMemFreeHost)(item[i].host) != CUDA_SUCCESS;
		else
			taken[i] = CU(cuMemFree_v2)(item[i].pointer) != CUDA_SUCCESS;
		if (steps == 50) {
			puts("ready");
			fflush(stdout);
		}
	}
}

static int survivor(void)
{
	char line[16];

	context_now(0);
	do {
		printf("%zu\n", total_now() - free_now());
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=4G",
				   "CUQUOTA_TENANT=t",
				   "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=64M",
				   "SIMGPU_TAG=t",
				   NULL};
	const int cycles = test_long() ? 200 : 15;
	struct client c[VICTIMS], witness;
	unsigned long long baseline;
	uint64_t state = 5, ledger;
	int64_t held;

	if (argc > 2)
		victim(strtoull(argv[2], NULL, 10) * 7919 + 1);
	if (argc > 1)
		return survivor();
	witness = client_capped((const char *const[]){"/proc/self/exe", "survivor", NULL}, env);
	baseline = strtoull(client_line(&witness, DEADLINE_MS) ?: "", NULL, 10);
	ledger = ledger_used("t", NULL);
	held = truth_held(NULL, 0, "t");
	CHECK_EQ(baseline, 66 * MIB);
	CHECK_EQ(ledger, (uint64_t)baseline);
	CHECK_EQ(held, (int64_t)(64 * MIB));
	for (int cycle = 0; cycle < cycles; cycle++) {
		unsigned long long shown = 0;
		int64_t until;

		for (int i = 0; i < VICTIMS; i++) {
			char seed[16];

			snprintf(seed, sizeof(seed), "%d", cycle * VICTIMS + i);
			c[i] = client_capped((const char *const[]){"/proc/self/exe", "victim", seed,
								   NULL},
					     env);
		}
		for (int i = 0; i < VICTIMS; i++)
			CLIENT_SAYS(&c[i], "ready");
		for (int i = 0; i < VICTIMS; i++) {
			usleep((unsigned)below(&state, 3000));
			client_kill(&c[i], SIGKILL);
		}
		for (int i = 0; i < VICTIMS; i++)
			CHECK_EQ(client_wait(&c[i], DEADLINE_MS), 128 + SIGKILL);
		for (until = now_ms() + 1000; shown != baseline && now_ms() < until; usleep(1000)) {
			client_say(&witness, "show");
			shown = strtoull(client_line(&witness, DEADLINE_MS) ?: "", NULL, 10);
		}
		if (shown != baseline || ledger_used("t", NULL) != ledger ||
		    truth_held(NULL, 0, "t") != held)
			FAIL("cycle %d: shown %llu, want %llu; ledger %llu, want %llu; card %lld, "
			     "want %lld",
			     cycle, shown, baseline, (unsigned long long)ledger_used("t", NULL),
			     (unsigned long long)ledger, (long long)truth_held(NULL, 0, "t"),
			     (long long)held);
	}
	CHECK_EQ(client_wait(&witness, DEADLINE_MS), 0);
	return 0;
}
