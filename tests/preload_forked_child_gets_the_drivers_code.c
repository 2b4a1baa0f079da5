/*
 * A forked child of a program that uses the device: its allocation gets the driver's own code,
 * nothing is counted twice while it lives, and its end takes nothing from its parent. A fork amid
 * other threads' allocations does not hang.
 *
 * report: FE-02
 */
#include "client.h"
#include "ledger_now.h"

#include <pthread.h>

#define MIB (1ull << 20)

static int stop;
static CUcontext context;
/* Found before any fork: the loader's locks are not a forked child's to wait for. */
static __typeof__(&cuMemAlloc_v2) allocate;
static __typeof__(&cuMemFree_v2) release;

static void *churn(void *unused)
{
	CUdeviceptr p;

	CHECK_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_EQ(allocate(&p, 1000), CUDA_SUCCESS);
		CHECK_EQ(release(p), CUDA_SUCCESS);
	}
	return unused;
}

static int child(CUdeviceptr parents)
{
	CUdeviceptr p = 77;

	alarm(10);
	CHECK_EQ(allocate(&p, MIB), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(allocate(&p, 100), CUDA_ERROR_NOT_INITIALIZED);
	/* As much again as the parent has, and more than any limit: still the driver's own code. */
	CHECK_EQ(allocate(&p, 2048 * MIB), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(allocate(&p, 8192 * MIB), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(p, 77ull);
	CHECK_EQ(release(parents), CUDA_ERROR_NOT_INITIALIZED);
	return 0;
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK_SYS(waitpid(pid, &status, 0));
	if (status)
		FAIL("a child ended with %#x", status);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=24G", NULL};
	pthread_t threads[2];
	int pipes[2], done[2];
	CUdeviceptr p;
	size_t before;
	uint64_t held;
	pid_t pid;
	char c;

	start_capped(argv, env);
	allocate = CU(cuMemAlloc_v2);
	release = CU(cuMemFree_v2);
	context = context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 2048 * MIB), CUDA_SUCCESS);
	before = free_now();
	held = ledger_used(NULL, NULL);
	CHECK_EQ(held, total_now() - before);
	CHECK_SYS(pipe(pipes));
	CHECK_SYS(pipe(done));
	pid = fork();
	CHECK_SYS(pid);
	if (!pid) {
		close(pipes[1]);
		CHECK_EQ(child(p), 0);
		CHECK_EQ((int)write(done[1], "", 1), 1);
		_exit(read(pipes[0], &pid, 1) ? 1 : 0);
	}
	close(pipes[0]);
	close(done[1]);
	CHECK_EQ((int)read(done[0], &c, 1), 1);
	/* It has tried all, and lives. */
	CHECK_EQ(free_now(), before);
	CHECK_EQ(ledger_used(NULL, NULL), held);
	close(pipes[1]);
	wait_for(pid);
	CHECK_EQ(free_now(), before);
	CHECK_EQ(ledger_used(NULL, NULL), held);

	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 100; i++) {
		pid = fork();
		CHECK_SYS(pid);
		if (!pid)
			_exit(child(p));
		wait_for(pid);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
	CHECK_GE(free_now(), before + 2048 * MIB - 4 * MIB);
	return 0;
}
