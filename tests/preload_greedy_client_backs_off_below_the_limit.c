/*
 * The way of TensorFlow: 92 % of what the device is said to have in one request, a tenth less after
 * each refusal. It ends below its limit, and what another tenant is shown on the same device and
 * can have of its own stays as it was.
 *
 * report: HE-07
 */
#include "client.h"
#include "simgpu/truth.h"

#define MIB (1ull << 20)
#define LIMIT (4096 * MIB)
#define CONTEXT 800

/* Both begin together. */
static void ready(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
}

static int greedy(void)
{
	size_t total = 0, asked;
	unsigned refusals = 0;
	CUdeviceptr p;
	char line[16];
	CUresult rc;

	context_now(0);
	ready();
	CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
	CHECK_EQ(total, (size_t)LIMIT);
	for (asked = total / 100 * 92; (rc = CU(cuMemAlloc_v2)(&p, asked)) != CUDA_SUCCESS;
	     asked -= asked / 10) {
		CHECK_EQ(rc, CUDA_ERROR_OUT_OF_MEMORY);
		refusals++;
	}
	CHECK_EQ(refusals, 2u);
	printf("%zu\n", asked);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	return 0;
}

static int patient(void)
{
	CUdeviceptr p[512];
	unsigned n = 0;
	char line[16];

	context_now(0);
	ready();
	/* Blocks cached and given back, as PyTorch does, again and again
	 * while the other one tries. */
	for (int round = 0; round < 50; round++) {
		CHECK_EQ(total_now(), (size_t)(2048 * MIB));
		while (n)
			CHECK_EQ(CU(cuMemFree_v2)(p[--n]), CUDA_SUCCESS);
		CHECK_EQ(free_now(), (size_t)((2048 - CONTEXT - 2) * MIB));
		while (CU(cuMemAlloc_v2)(&p[n], 20 * MIB) == CUDA_SUCCESS)
			n++;
		CHECK_EQ(n, (2048 - CONTEXT - 2) / 20);
	}
	printf("%u\n", n);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
	return 0;
}

int main(int argc, char **argv)
{
	const char *const greedy_env[] = {"CUQUOTA_MEMORY_LIMIT=4G",
					  "CUQUOTA_TENANT=greedy",
					  "CUQUOTA_LOG=error",
					  "SIMGPU_TAG=greedy",
					  "SIMGPU_DEVICES=24G",
					  "SIMGPU_CONTEXT=800M",
					  NULL};
	const char *const patient_env[] = {"CUQUOTA_MEMORY_LIMIT=2G",
					   "CUQUOTA_TENANT=patient",
					   "CUQUOTA_LOG=error",
					   "SIMGPU_TAG=patient",
					   "SIMGPU_DEVICES=24G",
					   "SIMGPU_CONTEXT=800M",
					   NULL};
	char self[PATH_MAX] = {0};
	struct client one, two;
	unsigned long long asked;
	const char *line;

	if (argc > 1)
		return !strcmp(argv[1], "greedy") ? greedy() : patient();
	CHECK_SYS(readlink("/proc/self/exe", self, sizeof(self) - 1));
	/* The contexts are made one by one: what one costs is learnt while
	 * nobody else allocates. */
	one = client_capped((const char *const[]){self, "greedy", NULL}, greedy_env);
	CLIENT_SAYS(&one, "ready");
	two = client_capped((const char *const[]){self, "patient", NULL}, patient_env);
	CLIENT_SAYS(&two, "ready");
	client_say(&two, "go");
	client_say(&one, "go");
	line = client_line(&one, DEADLINE_MS);
	CHECK(line);
	asked = strtoull(line, NULL, 10);
	/* 92 % less a tenth, twice: the context costs 800 MiB. */
	CHECK_GE(asked, (unsigned long long)(LIMIT / 100 * 74));
	CHECK_LE(asked + CONTEXT * MIB, (unsigned long long)LIMIT);
	line = client_line(&two, DEADLINE_MS);
	CHECK(line);
	CHECK_EQ(strtoul(line, NULL, 10), (2048ul - CONTEXT - 2) / 20);
	CHECK_LE(truth_max(NULL, 0, "greedy"), (int64_t)LIMIT);
	CHECK_LE(truth_max(NULL, 0, "patient"), (int64_t)(2048 * MIB));
	client_say(&one, "end");
	client_say(&two, "end");
	CHECK_EQ(client_wait(&one, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&two, DEADLINE_MS), 0);
	return 0;
}
