/*
 * The worst pair of one process while another of its tenant is in trouble.
 *
 *     worst [trouble=none|idle|stop|kill|core] [ms=N] [bytes=N] [greedy=1]
 *
 * Both allocate and free `bytes` as fast as they can, the measured one on the first processor,
 * the other on the last: there it runs SCHED_IDLE beside a busy loop, or is stopped for 30 ms
 * again and again, or killed or made to dump core and started anew. Prints "WORST REFUSED PAIRS
 * TROUBLES": the longest call or pair in ns, less what the measured process waited for a
 * processor meanwhile; how many allocations were refused; how many pairs; how often the other
 * was in trouble. With greedy=1 the measured one now and then asks for twice as much, which a limit
 * that has room for one block only refuses for certain.
 */
#include "options.h"
#include "bench.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
	CORE_MIB = 48, /* so much of its own is dumped: some 20 ms */
	LOOK_PAIRS = 64,
	LONG_NS = 20000,
	GREEDY = 16
};

enum trouble {
	TROUBLE_NONE,
	TROUBLE_IDLE,
	TROUBLE_STOP,
	TROUBLE_KILL,
	TROUBLE_CORE,
};

static struct shared {
	uint32_t ready, end;
	uint64_t worst_ns, refused, pairs;
} * shared;

static const char *trouble_name = "none";
static long run_ms = 1000, bytes = 64 << 20, greedy;
static enum trouble trouble;

/* False when it was refused. */
static bool pair(size_t size)
{
	CUdeviceptr block;
	const CUresult rc = cuMemAlloc_v2(&block, size);

	if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY)
		STOP("cuMemAlloc: %d", rc);
	if (rc == CUDA_SUCCESS)
		NEED(cuMemFree_v2(block));
	return rc == CUDA_SUCCESS;
}

static void measured(void)
{
	uint64_t waited = 0, begin = 0, now;

	pin_in_turn(0);
	context_start();
	pair((size_t)bytes);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (uint64_t i = 0; !__atomic_load_n(&shared->end, __ATOMIC_RELAXED); i++) {
		/* Looked up seldom, and after each long pair: shorter ones cannot have waited
		 * for much that would be taken off the next long one. */
		if (i % LOOK_PAIRS == 0)
			waited = waited_ns();
		begin = now_ns();
		shared->refused += !pair((size_t)(greedy && i % GREEDY == 0 ? 2 * bytes : bytes));
		now = now_ns() - begin;
		shared->pairs++;
		if (now > LONG_NS) {
			const uint64_t since = waited_ns() - waited;

			waited += since;
			now = now > since ? now - since : 0;
		}
		if (now > shared->worst_ns)
			shared->worst_ns = now;
	}
	_exit(0);
}

static void other(void)
{
	const struct sched_param idle = {0};
	const struct rlimit whole = {RLIM_INFINITY, RLIM_INFINITY};

	pin_in_turn(-1);
	context_start();
	if (trouble == TROUBLE_IDLE && sched_setscheduler(0, SCHED_IDLE, &idle))
		STOP("SCHED_IDLE: %s", strerror(errno));
	if (trouble == TROUBLE_CORE) {
		char *const own = malloc(CORE_MIB * MIB);

		if (!own || setrlimit(RLIMIT_CORE, &whole))
			STOP("no core can be dumped");
		memset(own, 1, CORE_MIB * MIB);
		prctl(PR_SET_DUMPABLE, 1);
	}
	__atomic_store_n(&shared->ready, 2, __ATOMIC_SEQ_CST);
	for (;;)
		pair((size_t)bytes);
}

static void busy(void)
{
	pin_in_turn(-1);
	for (;;)
		__asm__ volatile("");
}

static pid_t start(void (*body)(void), const char *tag)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		STOP("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setenv("SIMGPU_TAG", tag, 1);
	body();
	_exit(1);
}

static void wait_ready(uint32_t value)
{
	const uint64_t until = now_ns() + 10000 * MS;

	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < value) {
		if (now_ns() > until)
			STOP("process %u did not start", value);
		usleep(200);
	}
}

/* One trouble of the other, which may be a new process then. */
static pid_t strike(pid_t pid, uint64_t *random)
{
	/* Anywhere in a pair, and not in step with anything. */
	usleep(2000 + (useconds_t)(random_next(random) % 3000));
	if (trouble == TROUBLE_STOP) {
		kill(pid, SIGSTOP);
		usleep(30000);
		kill(pid, SIGCONT);
	} else if (trouble == TROUBLE_KILL || trouble == TROUBLE_CORE) {
		int status = 0;

		kill(pid, trouble == TROUBLE_KILL ? SIGKILL : SIGQUIT);
		waitpid(pid, &status, 0);
		if (trouble == TROUBLE_CORE && !WCOREDUMP(status))
			STOP("the killed process dumped no core: see core(5), kernel.core_pattern");
		__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
		pid = start(other, "other");
		wait_ready(2);
	}
	return pid;
}

int main(int argc, char **argv)
{
	static const char *const troubles[] = {"none", "idle", "stop", "kill", "core", NULL};
	const struct option known[] = {
		{"trouble", &trouble_name, NULL},
		{"ms", NULL, &run_ms},
		{"bytes", NULL, &bytes},
		{"greedy", NULL, &greedy},
		{0},
	};
	uint64_t random = 88172645463325252ull, until;
	pid_t first, second, loop = 0;
	unsigned count = 0;
	int status;

	options_parse(argc, argv, known);
	trouble = (enum trouble)options_index(trouble_name, troubles, "trouble");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		STOP("mmap: %s", strerror(errno));
	first = start(measured, "measured");
	wait_ready(1);
	second = start(other, "other");
	wait_ready(2);
	if (trouble == TROUBLE_IDLE)
		loop = start(busy, "");
	for (until = now_ns() + (uint64_t)run_ms * MS; now_ns() < until; count++)
		second = strike(second, &random);
	__atomic_store_n(&shared->end, 1, __ATOMIC_SEQ_CST);
	if (waitpid(first, &status, 0) != first || status)
		STOP("the measured process ended with status %#x", status);
	/* The loop first: beside it one that runs SCHED_IDLE would take long to die. */
	if (loop) {
		kill(loop, SIGKILL);
		waitpid(loop, NULL, 0);
	}
	kill(second, SIGKILL);
	if (waitpid(second, &status, 0) != second || !WIFSIGNALED(status))
		STOP("the other process ended early: status %#x", status);
	printf("%llu %llu %llu %u\n", (unsigned long long)shared->worst_ns,
	       (unsigned long long)shared->refused, (unsigned long long)shared->pairs, count);
	return 0;
}
