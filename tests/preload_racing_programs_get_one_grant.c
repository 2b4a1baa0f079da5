/*
 * Two programs of one tenant of 1024 MiB ask for 600 MiB each, released by a barrier, while the
 * driver takes up to 5 ms for an allocation: exactly one has it in every round, the other is told
 * "out of memory", and the card never holds more than the limit for them.
 *
 * report: AC-02
 */
#include "client.h"
#include "simgpu/truth.h"

#include <pthread.h>
#include <sys/mman.h>

#define MIB (1ull << 20)
#define LIMIT (1024 * MIB)
#define ASKED (600 * MIB)

struct shared {
	pthread_barrier_t together;
	CUresult said[2];
};

static int racer(int file, int me, int rounds)
{
	struct shared *const s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, file,
				      0);
	const __typeof__(&cuMemAlloc_v2) take = CU(cuMemAlloc_v2);
	const __typeof__(&cuMemFree_v2) give = CU(cuMemFree_v2);
	char line[16];

	CHECK(s != MAP_FAILED);
	context_now(0);
	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	for (int i = 0; i < rounds; i++) {
		CUdeviceptr p = 0;

		pthread_barrier_wait(&s->together);
		s->said[me] = take(&p, ASKED);
		pthread_barrier_wait(&s->together);
		if ((s->said[0] == CUDA_SUCCESS) + (s->said[1] == CUDA_SUCCESS) != 1 ||
		    s->said[0] + s->said[1] != CUDA_ERROR_OUT_OF_MEMORY)
			FAIL("round %d: one has %d, the other %d", i, s->said[0], s->said[1]);
		if (s->said[me] == CUDA_SUCCESS)
			CHECK_EQ(give(p), CUDA_SUCCESS);
	}
	puts("done");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1024M",
				   "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=16M",
				   "SIMGPU_DELAY=cuMemAlloc_v2:0-5ms",
				   "SIMGPU_TAG=two",
				   NULL};
	const char *const rounds = test_long() ? "2000" : "600";
	pthread_barrierattr_t attr;
	struct shared *s;
	struct client c[2];
	char number[16];
	int file;

	if (argc > 3)
		return racer(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
	CHECK_SYS(file = memfd_create("racers", 0));
	CHECK_SYS(ftruncate(file, sizeof(*s)));
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(s != MAP_FAILED);
	CHECK_EQ(pthread_barrierattr_init(&attr), 0);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(pthread_barrier_init(&s->together, &attr, 2), 0);
	snprintf(number, sizeof(number), "%d", file);
	for (int i = 0; i < 2; i++) {
		const char *const self[] = {"/proc/self/exe", number, i ? "1" : "0", rounds, NULL};

		c[i] = client_capped(self, env);
		CLIENT_SAYS(&c[i], "ready");
	}
	for (int i = 0; i < 2; i++)
		client_say(&c[i], "go");
	for (int i = 0; i < 2; i++)
		CHECK_STR(client_line(&c[i], 20 * DEADLINE_MS), "done");
	for (int i = 0; i < 2; i++)
		client_say(&c[i], "end");
	for (int i = 0; i < 2; i++)
		CHECK_EQ(client_wait(&c[i], DEADLINE_MS), 0);
	CHECK_LE(truth_max(NULL, 0, "two"), (int64_t)LIMIT);
	CHECK_GE(truth_max(NULL, 0, "two"), (int64_t)ASKED);
	return 0;
}
