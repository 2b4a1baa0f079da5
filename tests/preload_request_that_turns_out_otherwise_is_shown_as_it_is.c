/*
 * What is charged for pitched memory is settled when the driver has said its pitch: a request that
 * was taken for more than a grain may share one, and one that was taken for less may need more than
 * one. What is shown and what is charged are the same before and after, and when all is freed; also
 * of a request whose undoing failed, and at the limit, where small requests use the spare grain.
 */
#include "client.h"
#include "ledger_now.h"

#define MIB ((size_t)1 << 20)

static size_t used_now(void)
{
	const size_t total = total_now(), used = total - free_now();
	const uint64_t charged = ledger_used("t", NULL);

	CHECK_EQ((uint64_t)used, charged < total ? charged : total);
	return used;
}

/* A pitch of the driver's makes so many MiB of a request. */
static int pitched(size_t width, size_t height, size_t want)
{
	CUdeviceptr first, second;
	size_t before, pitch;

	context_now(0);
	before = used_now();
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(CU(cuMemAllocPitch_v2)(&first, &pitch, width, height, 4), CUDA_SUCCESS);
		CHECK_EQ(used_now(), before + want * MIB);
		CHECK_EQ(CU(cuMemAlloc_v2)(&second, 4096), CUDA_SUCCESS);
		used_now();
		CHECK_EQ(CU(cuMemFree_v2)(first), CUDA_SUCCESS);
		used_now();
		CHECK_EQ(CU(cuMemFree_v2)(second), CUDA_SUCCESS);
		CHECK_EQ(used_now(), before);
	}
	return 0;
}

/* At the limit small requests use the spare grain; each that needs more is undone, which may fail
 * (SIMGPU_FAULT): then it stays, and is charged beyond the limit. */
static int at_the_limit(void)
{
	CUdeviceptr block[200];
	unsigned count = 0, more = 0;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&block[count++], 4096), CUDA_SUCCESS);
	while (CU(cuMemAlloc_v2)(&block[count], 2 * MIB) == CUDA_SUCCESS)
		CHECK_LE(++count, 100u);
	used_now();
	while (more < 50 && CU(cuMemAlloc_v2)(&block[count + more], 100000) == CUDA_SUCCESS) {
		used_now();
		more++;
	}
	CHECK_GE(more, 10u);
	while (more) {
		const CUresult rc = CU(cuMemFree_v2)(block[count + --more]);

		CHECK(rc == CUDA_SUCCESS || rc == CUDA_ERROR_UNKNOWN);
		used_now();
	}
	while (count) {
		CHECK_EQ(CU(cuMemFree_v2)(block[--count]), CUDA_SUCCESS);
		used_now();
	}
	return 0;
}

static void run(const char *what, const char *pitch, const char *fault)
{
	const char *const argv[] = {"/proc/self/exe", what, NULL};
	const char *const env[] = {pitch, fault, NULL};
	struct client c = client_capped(argv, env);

	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=150M", "CUQUOTA_TENANT=t",
				   "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=100M", NULL};

	if (argc > 1 && !strcmp(argv[1], "smaller"))
		return pitched(100, 5000, 2); /* 2.4 MiB by a pitch of 512, 625 KiB by 128 */
	if (argc > 1 && !strcmp(argv[1], "larger"))
		return pitched(100, 2000, 8); /* 1 MiB by a pitch of 512, 7.8 MiB by 4096 */
	if (argc > 1)
		return at_the_limit();
	for (const char *const *e = env; *e; e++)
		putenv(strdup(*e));
	run("smaller", "SIMGPU_PITCH=128", "SIMGPU_FAULT=");
	run("larger", "SIMGPU_PITCH=4K", "SIMGPU_FAULT=");
	run("limit", "SIMGPU_PITCH=512", "SIMGPU_FAULT=");
	run("limit", "SIMGPU_PITCH=512", "SIMGPU_FAULT=cuMemFree_v2@1-3:999");
	return 0;
}
