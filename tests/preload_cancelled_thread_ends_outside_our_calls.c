/*
 * A thread that is to be cancelled asks what it may have, and for more than that. Both look at the
 * ledger's files, but the thread ends only where its program lets it, so that neither a descriptor
 * nor a lock is left behind, on a dead member's place or on the account.
 */
#include "client.h"

#include <pthread.h>

static __typeof__(&cuMemGetInfo_v2) cuda_info;
static __typeof__(&nvmlDeviceGetMemoryInfo) nvml_info;
static nvmlDevice_t device;
static CUcontext context;
static bool asked;

static void *ask_cuda(void *unused)
{
	size_t bytes, total;

	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	pthread_cancel(pthread_self());
	CHECK_EQ(cuda_info(&bytes, &total), CUDA_SUCCESS);
	asked = true;
	pthread_testcancel();
	return unused;
}

static void *ask_nvml(void *unused)
{
	nvmlMemory_t memory;

	pthread_cancel(pthread_self());
	CHECK_EQ(nvml_info(device, &memory), NVML_SUCCESS);
	asked = true;
	pthread_testcancel();
	return unused;
}

/* Before it is refused the dead are looked for, in files. */
static void *ask_too_much(void *unused)
{
	CUdeviceptr block;

	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	pthread_cancel(pthread_self());
	CHECK_EQ(CU(cuMemAlloc_v2)(&block, 3ull << 30), CUDA_ERROR_OUT_OF_MEMORY);
	asked = true;
	pthread_testcancel();
	return unused;
}

static void ended_outside(void *(*ask)(void *))
{
	const unsigned before = open_descriptors();
	pthread_t thread;
	void *result;

	asked = false;
	CHECK_EQ(pthread_create(&thread, NULL, ask, NULL), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(asked);
	CHECK_EQ(open_descriptors(), before);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G", "CUQUOTA_MEMORY_LIMIT=2G", NULL};
	const char *const maker[] = {"/proc/self/exe", "make", NULL};
	struct client c;

	if (argc > 1)
		return !context_now(0);
	/* simgpu's NVML opens files until it finds its card's account */
	if (!getenv("TEST_STARTED")) {
		c = client_start(maker, env);
		CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	}
	start_capped(argv, env);
	nvml_info = ML(nvmlDeviceGetMemoryInfo);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	CHECK_EQ(nvml_info(device, &(nvmlMemory_t){0}), NVML_SUCCESS);
	ended_outside(ask_nvml);
	cuda_info = CU(cuMemGetInfo_v2);
	context = context_now(0);
	usleep(60000); /* a sweep is due 50 ms after the last */
	ended_outside(ask_cuda);
	ended_outside(ask_too_much);
	return 0;
}
