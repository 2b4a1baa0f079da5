/*
 * Sixteen threads retain the primary context together and allocate 1 MiB each: the context is
 * charged once; three processes at a time are charged three times as much.
 *
 * report: AC-04
 */
#include "client.h"
#include "simgpu/truth.h"

#include <pthread.h>

#define MIB (1ull << 20)
#define THREADS 16
#define CLIENTS 3
#define CONTEXT (300 * MIB)
#define GRAIN (2 * MIB)

static pthread_barrier_t together;

static void *retain(void *unused)
{
	CUcontext context;
	CUdeviceptr p;

	pthread_barrier_wait(&together);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, MIB), CUDA_SUCCESS);
	return unused;
}

static int client(void)
{
	pthread_t threads[THREADS];
	char line[16];

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(pthread_barrier_init(&together, NULL, THREADS), 0);
	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, retain, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	puts("done");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	CHECK_EQ(CU(cuCtxSetCurrent)((CUcontext)NULL), CUDA_SUCCESS);
	context_now(0);
	printf("%zu\n", total_now() - free_now());
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	return 0;
}

/* Each run has a tenant of its own: the dead of the last one may still be counted for a moment. */
static void run(const char *self, const char *tenant, int count)
{
	/* 16 blocks of 1 MiB, two to a grain; the context; the spare grain,
	 * which nothing lies in. */
	const size_t each = CONTEXT + 16 * MIB + GRAIN;
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=4G", tenant, "SIMGPU_DEVICES=24G",
				   "SIMGPU_CONTEXT=300M", "SIMGPU_TAG=three", NULL};
	const char *const argv[] = {self, "client", NULL};
	struct client clients[CLIENTS];

	for (int i = 0; i < count; i++) {
		clients[i] = client_capped(argv, env);
		CLIENT_SAYS(&clients[i], "ready");
	}
	for (int i = 0; i < count; i++)
		client_say(&clients[i], "go");
	for (int i = 0; i < count; i++)
		CLIENT_SAYS(&clients[i], "done");
	CHECK_EQ(truth_held(NULL, 0, "three"), (int64_t)(count * (each - GRAIN)));
	for (int i = 0; i < count; i++)
		client_say(&clients[i], "show");
	for (int i = 0; i < count; i++) {
		const char *const line = client_line(&clients[i], DEADLINE_MS);

		CHECK(line);
		CHECK_EQ(strtoull(line, NULL, 10), (unsigned long long)(count * each));
	}
	for (int i = 0; i < count; i++) {
		client_say(&clients[i], "end");
		CHECK_EQ(client_wait(&clients[i], DEADLINE_MS), 0);
	}
}

int main(int argc, char **argv)
{
	char self[PATH_MAX] = {0};

	if (argc > 1)
		return client();
	CHECK_SYS(readlink("/proc/self/exe", self, sizeof(self) - 1));
	run(self, "CUQUOTA_TENANT=one", 1); /* which also learns what a context costs */
	run(self, "CUQUOTA_TENANT=three", 3);
	return 0;
}
