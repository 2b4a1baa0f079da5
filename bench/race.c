/*
 * Some processes that race for the last bytes below a limit, as fast as they can; says how much
 * they held at most.
 *
 *     race [family=linear|small|managed|vmm] [processes=N] [ms=N] [kill=MS]
 *
 * With kill=MS one of them is killed that often and another takes its place. Prints "MAX REFUSED
 * KILLED": the largest amount in bytes that the simulated card recorded for all of them
 * together, how often an allocation was refused, how many were killed. Processes are forked
 * before the driver is started; the first makes its context alone.
 */
#include "options.h"
#include "bench.h"
#include "simgpu/truth.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PROCESSES = 64,
       BLOCKS = 512 };

enum family {
	FAMILY_LINEAR,
	FAMILY_SMALL,
	FAMILY_MANAGED,
	FAMILY_VMM,
};

struct block {
	CUdeviceptr pointer;
	size_t bytes;
};

static struct shared {
	uint32_t ready;
	uint64_t refused;
} * shared;

static const char *family_name = "linear";
static long processes = 8, run_ms = 1000, kill_ms;
static enum family family;
static uint64_t seed;

static size_t below(size_t n)
{
	return (size_t)random_next(&seed) % n;
}

static CUresult take_vmm(struct block *block)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUresult rc;

	block->bytes = (1 + below(24)) * 2 * MIB;
	rc = cuMemCreate(&handle, block->bytes, &prop, 0);
	if (rc != CUDA_SUCCESS)
		return rc;
	NEED(cuMemAddressReserve(&block->pointer, block->bytes, 0, 0, 0));
	NEED(cuMemMap(block->pointer, block->bytes, 0, handle, 0));
	NEED(cuMemRelease(handle));
	return rc;
}

static CUresult take(struct block *block)
{
	if (family == FAMILY_VMM)
		return take_vmm(block);
	if (family == FAMILY_MANAGED)
		return cuMemAllocManaged(&block->pointer, 1 + below(48 * MIB),
					 CU_MEM_ATTACH_GLOBAL);
	if (family == FAMILY_SMALL)
		return cuMemAlloc_v2(&block->pointer, 1 + below(2 * MIB - 1));
	return cuMemAlloc_v2(&block->pointer, 2 * MIB + below(62 * MIB));
}

static void give(const struct block *block)
{
	if (family != FAMILY_VMM) {
		NEED(cuMemFree_v2(block->pointer));
		return;
	}
	NEED(cuMemUnmap(block->pointer, block->bytes));
	NEED(cuMemAddressFree(block->pointer, block->bytes));
}

/* As context_start, but while the others hold all there is, it asks again. */
static void context_wait(void)
{
	CUcontext context;
	CUdevice device;
	CUresult rc;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	while ((rc = cuDevicePrimaryCtxRetain(&context, device)) == CUDA_ERROR_OUT_OF_MEMORY)
		usleep(1000);
	NEED(rc);
	NEED(cuCtxSetCurrent(context));
}

/* Takes three times for each it gives; when refused it gives a third of all, for others to take. */
static void churn(void)
{
	static struct block blocks[BLOCKS];
	size_t count = 0, drop;

	for (;;) {
		drop = 1;
		if (count < BLOCKS && below(4)) {
			const CUresult rc = take(&blocks[count]);

			drop = 0;
			if (rc == CUDA_SUCCESS) {
				count++;
			} else if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
				drop = 1 + count / 3;
				__atomic_add_fetch(&shared->refused, 1, __ATOMIC_RELAXED);
			} else {
				STOP("%s: %d", family_name, rc);
			}
		}
		for (; drop && count; drop--) {
			const size_t i = below(count);

			give(&blocks[i]);
			blocks[i] = blocks[--count];
		}
	}
}

static pid_t start(long number)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		STOP("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	seed = 88172645463325252ull + (uint64_t)number * 7919;
	context_wait();
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	churn();
	_exit(1);
}

static void end(pid_t pid, bool killed)
{
	int status;

	if (killed)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		STOP("a process ended early: status %#x", status);
}

int main(int argc, char **argv)
{
	static const char *const families[] = {"linear", "small", "managed", "vmm", NULL};
	const struct option known[] = {
		{"family", &family_name, NULL},
		{"processes", NULL, &processes},
		{"ms", NULL, &run_ms},
		{"kill", NULL, &kill_ms},
		{0},
	};
	long started = 0, killed = 0;
	pid_t pid[PROCESSES];
	uint64_t until;

	options_parse(argc, argv, known);
	family = (enum family)options_index(family_name, families, "family");
	if (processes < 1 || processes > PROCESSES)
		STOP("1 to %d processes", PROCESSES);
	setenv("SIMGPU_TAG", "race", 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		STOP("mmap: %s", strerror(errno));
	for (; started < processes; started++) {
		pid[started] = start(started);
		until = now_ns() + 10000 * MS;
		while (!__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST)) {
			if (now_ns() > until || waitpid(pid[0], NULL, WNOHANG))
				STOP("the first process did not start");
			usleep(200);
		}
	}
	for (until = now_ns() + (uint64_t)run_ms * MS; now_ns() < until;) {
		usleep((useconds_t)(kill_ms ? kill_ms : 10) * 1000);
		if (kill_ms) {
			const long i = started % processes;

			end(pid[i], true);
			pid[i] = start(started++);
			killed++;
		}
	}
	/* All stop before the first one ends: without kill= nobody is to race beside a death. */
	for (long i = 0; i < processes; i++)
		kill(pid[i], SIGSTOP);
	for (long i = 0; i < processes; i++) {
		siginfo_t stopped;

		if (waitid(P_PID, (id_t)pid[i], &stopped, WSTOPPED | WEXITED | WNOWAIT) ||
		    stopped.si_code != CLD_STOPPED)
			STOP("a process ended early");
	}
	for (long i = 0; i < processes; i++)
		end(pid[i], true);
	printf("%lld %llu %ld\n", (long long)truth_max(NULL, 0, "race"),
	       (unsigned long long)shared->refused, killed);
	return 0;
}
