/*
 * Hundreds of programs start at the same moment on a ledger that none of them finds made: each
 * joins, is shown the limit and has its memory; nobody gives up, runs uncapped or has anything to
 * say; and they are hardly later than without the library.
 *
 * They share the cores with each other, so the time until the last one is ready is above all what
 * all of them cost together, over the number of cores: 5 s for 300 on 8 cores are 20 s on 2. That
 * would hide a queue in which they wait for each other; so besides, they go to sleep no more often
 * than without the library, but for a few times.
 *
 * timeout: 100
 */
/* report: PF-01 */
#include "client.h"
#include "ledger_now.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MIB (1ull << 20)
#define MOST 300
#define LIMIT (390ull << 30)

struct started {
	uint64_t ready_ns; /* 0: not */
	uint64_t total;	   /* as shown */
};

struct batch {
	double p50, p99, wall; /* s from the moment of the start: to be ready; of all */
	double cpu;	       /* s, of all together */
	double waits;	       /* how often a program went to sleep, on average */
};

static unsigned programs(void)
{
	return test_long() ? MOST : 60;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct started *map_table(int file)
{
	struct started *const s =
		mmap(NULL, MOST * sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	CHECK(s != MAP_FAILED);
	return s;
}

/* Starts, has its memory, and stays until the others have started too. */
static int program(int table, unsigned index)
{
	struct started *const s = map_table(table);
	CUdeviceptr p;
	char c;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 4 * MIB), CUDA_SUCCESS);
	s[index].total = total_now();
	__atomic_store_n(&s[index].ready_ns, now_ns(), __ATOMIC_RELEASE);
	CHECK_EQ(read(0, &c, 1), 0);
	return 0;
}

/* CPU seconds, and how often they gave the processor up by themselves. */
static double of_children(long *waits)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	*waits = u.ru_nvcsw;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int by_size(const void *x, const void *y)
{
	const double p = *(const double *)x, q = *(const double *)y;

	return (p > q) - (p < q);
}

/* Forked and held back at `gate`; when it opens they become the program. */
static pid_t hold_back(int gate[2], int home[2], int table, unsigned index)
{
	const pid_t pid = fork();
	char table_text[12], index_text[12], c;

	CHECK_SYS(pid);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(gate[1]);
	close(home[1]);
	dup2(home[0], 0);
	snprintf(table_text, sizeof(table_text), "%d", table);
	snprintf(index_text, sizeof(index_text), "%u", index);
	if (read(gate[0], &c, 1))
		_exit(1);
	execl("/proc/self/exe", "/proc/self/exe", table_text, index_text, NULL);
	_exit(127);
}

/* In a child, which reads its settings anew: each turn has another folder. */
static void judge_capped(const struct started *s, unsigned n)
{
	const pid_t pid = fork();
	struct stat said;
	int status;

	CHECK_SYS(pid);
	if (pid) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(s[i].total, (uint64_t)LIMIT);
	/* All are in, with a spare grain, their memory, and a context, charged as seen or as the
	 * most that it may take. */
	CHECK_GE(ledger_used("t", NULL), n * (8 + 2 + 4) * MIB);
	CHECK_LE(ledger_used("t", NULL), n * (512 + 2 + 4) * MIB);
	if (!stat(getenv("CUQUOTA_LOG_FILE"), &said) && said.st_size)
		FAIL("somebody had %lld bytes to say", (long long)said.st_size);
	_exit(0);
}

static struct batch start_all(bool capped)
{
	const unsigned n = programs();
	int gate[2], home[2], table, status;
	double seconds[MOST], before, after;
	long waits_before, waits_after;
	struct started *s;
	pid_t pid[MOST];
	struct batch b;
	uint64_t begin;
	int64_t until;

	before = of_children(&waits_before);
	CHECK_SYS(table = memfd_create("started", 0));
	CHECK_SYS(ftruncate(table, MOST * sizeof(*s)));
	s = map_table(table);
	CHECK_SYS(pipe2(gate, O_CLOEXEC));
	CHECK_SYS(pipe2(home, O_CLOEXEC));
	if (capped)
		putenv(strdup(preload_of("libcuquota.so")));
	else
		unsetenv("LD_PRELOAD");
	for (unsigned i = 0; i < n; i++)
		pid[i] = hold_back(gate, home, table, i);
	unsetenv("LD_PRELOAD");
	usleep(20000);
	begin = now_ns();
	until = now_ms() + (test_long() ? 20 : 3) * DEADLINE_MS;
	close(gate[1]);
	for (unsigned i = 0; i < n; i++) {
		while (!__atomic_load_n(&s[i].ready_ns, __ATOMIC_ACQUIRE)) {
			if (waitpid(pid[i], &status, WNOHANG) || now_ms() > until)
				FAIL("program %u of %u does not start", i, n);
			usleep(1000);
		}
		seconds[i] = (double)(s[i].ready_ns - begin) / 1e9;
	}
	if (capped)
		judge_capped(s, n);
	close(home[1]);
	for (unsigned i = 0; i < n; i++) {
		CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
		CHECK_EQ(status, 0);
	}
	close(gate[0]);
	close(home[0]);
	munmap(s, MOST * sizeof(*s));
	close(table);
	qsort(seconds, n, sizeof(*seconds), by_size);
	after = of_children(&waits_after);
	b = (struct batch){
		.p50 = seconds[n / 2], .p99 = seconds[n * 99 / 100], .wall = seconds[n - 1]};
	b.cpu = after - before;
	b.waits = (double)(waits_after - waits_before) / n;
	printf("%u %s: ready after %.3f s (half), %.3f s (99 of 100), %.3f s (all); CPU %.3f s; "
	       "each slept %.1f times\n",
	       n, capped ? "capped" : "bare", b.p50, b.p99, b.wall, b.cpu, b.waits);
	return b;
}

static void new_ledger(unsigned turn)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/%u", getenv("TEST_FOLDERS"), turn);
	CHECK_SYS(mkdir(folder, 0755));
	setenv("CUQUOTA_DIR", folder, 1);
}

int main(int argc, char **argv)
{
	const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN),
		     scale = cores < 8 ? 8 / cores : 1;
	char log[PATH_MAX];

	if (argc > 2)
		return program(atoi(argv[1]), (unsigned)atoi(argv[2]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("TEST_FOLDERS", getenv("CUQUOTA_DIR"), 1);
	snprintf(log, sizeof(log), "%s/log", getenv("TMPDIR"));
	setenv("CUQUOTA_LOG_FILE", log, 1);
	setenv("CUQUOTA_TENANT", "t", 1);
	setenv("CUQUOTA_MEMORY_LIMIT", "390G", 1);
	/* None knows yet what a context costs, and each is charged 512 MiB while it is made. */
	setenv("SIMGPU_DEVICES", "400G", 1);
	setenv("SIMGPU_CONTEXT", "8M", 1);
	for (unsigned turn = 0;; turn++) {
		const struct batch bare = start_all(false);
		struct batch with;
		double added, waits;

		new_ledger(turn);
		with = start_all(true);
		added = with.p99 - bare.p99;
		waits = with.waits - bare.waits;
		printf("added for 99 of 100: %.0f ms; each slept %.1f times more\n", added * 1e3,
		       waits);
		if (added < 0.5 * scale && with.wall < 5 * scale && waits < 3)
			return 0;
		/* The machine may have been busy in one half of the turn only. */
		if (turn == 3)
			FAIL("on %.0f cores 99 of 100 start %.0f ms later (%.0f allowed), all in "
			     "%.1f s (%.0f), and each slept %.1f times more (3)",
			     cores, added * 1e3, 500 * scale, with.wall, 5 * scale, waits);
	}
}
