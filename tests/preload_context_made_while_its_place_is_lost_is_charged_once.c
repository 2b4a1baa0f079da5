/*
 * The ledger's file is removed while the driver makes the first context, which takes more than it
 * was charged for: the rest is charged where the place is found to be lost. In the new ledger the
 * context counts once.
 */
#include "client.h"

#include <glob.h>
#include <pthread.h>

#define MIB (1ull << 20)

static void *removes(void *unused)
{
	char pattern[PATH_MAX];
	glob_t all;

	usleep(600000);
	snprintf(pattern, sizeof(pattern), "%s/GPU-*", getenv("CUQUOTA_DIR"));
	CHECK_EQ(glob(pattern, 0, NULL, &all), 0);
	CHECK(all.gl_pathc > 1);
	for (size_t i = 0; i < all.gl_pathc; i++)
		CHECK_SYS(unlink(all.gl_pathv[i]));
	globfree(&all);
	return unused;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=700M",
				   "SIMGPU_DELAY=cuDevicePrimaryCtxRetain>1500ms",
				   "CUQUOTA_MEMORY_LIMIT=8G", NULL};
	pthread_t thread;
	CUdeviceptr p;

	start_capped(argv, env);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(pthread_create(&thread, NULL, removes, NULL), 0);
	context_now(0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(total_now() - free_now() <= 704 * MIB);
	CHECK(total_now() - free_now() >= 700 * MIB);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 1024 * MIB), CUDA_SUCCESS);
	CHECK(total_now() - free_now() <= 1728 * MIB);
	CHECK(total_now() - free_now() >= 1724 * MIB);
	return 0;
}
