/*
 * Twenty programs in a row on one ledger, each ending with memory held: each soon finds free what
 * the first found free, and what it allocates shows as exactly that.
 *
 * report: SS-01
 */
#include "client.h"

#define MIB (1ull << 20)
#define CONTEXT (300 * MIB)
#define SPARE (2 * MIB)

static int program(void)
{
	const size_t want = 2048 * MIB - CONTEXT - SPARE;
	const int64_t until = now_ms() + 1000;
	CUdeviceptr p, q;

	context_now(0);
	/* The dead are forgotten when numbers are shown, once in 50 ms. */
	while (free_now() != want && now_ms() < until)
		usleep(1000);
	CHECK_EQ(free_now(), want);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1024 * MIB), CUDA_SUCCESS);
	CHECK_EQ(free_now(), want - 1024 * MIB);
	CHECK_EQ(CU(cuMemAlloc_v2)(&q, 1024 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=300M", NULL};
	char self[PATH_MAX] = {0};

	if (argc > 1)
		return program();
	CHECK_SYS(readlink("/proc/self/exe", self, sizeof(self) - 1));
	for (int i = 0; i < 20; i++) {
		struct client client = client_capped((const char *const[]){self, "program", NULL},
						     env);

		CLIENT_SAYS(&client, "done");
		/* Every other one is still ending when the next one starts. */
		if (i % 2) {
			struct client next = client_capped((const char *const[]){self, "program",
										 NULL},
							   env);

			CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
			client = next;
		}
		CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
	}
	return 0;
}
