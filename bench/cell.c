/*
 * One cell of the bench: some processes of some threads that do one kind of work under whatever
 * library is preloaded.
 *
 *     cell [job=pair|info|launch|idle] [door=link|dlsym|resolver]
 *          [order=newest|oldest|random] [live=N] [bytes=N] [processes=N]
 *          [threads=N] [cpu=N] [spread=1] [tenants=N] [patience=MS] [count=N]
 *
 * Says "ready" once all live blocks are there, or "slow" when that takes longer than `patience`.
 * To each line "run US WARM" on stdin it works WARM µs uncounted, then US, and answers
 * "COUNT NS PACE": of one thread its own time without waits for a processor, of more the time from
 * their common begin to their common end; pace is the slowest of pace_ns before and after, of those
 * that worked. Ends with its stdin. With count=N it works so often and ends. cpu pins a single
 * process, spread=1 pins each thread to one in turn; tenants=N gives each process one of N names.
 *
 * Processes are forked before the driver is started; the first is ready before the others begin,
 * so that what a library learns from a context seen alone it has learned.
 */
#include "options.h"
#include "work.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define OWN_TAGS 100 /* the simulated driver has room for 128 */

struct result {
	uint64_t count, elapsed_ns;
	uint64_t pace_ns; /* the slower of before and after */
};

/* One page or more for all processes. */
struct shared {
	uint32_t go;	      /* how many runs were begun */
	uint32_t ready, done; /* threads */
	uint32_t slow;
	bool warm; /* work also until begin_ns */
	uint64_t begin_ns, end_ns;
	struct result result[];
};

static struct {
	const char *job, *door, *order;
	long live, bytes, processes, threads, cpu, spread, tenants, patience, count;
} option = {"pair", "link", "newest", 0, 2 << 20, 1, 1, -1, 0, 0, 30000, 0};

static struct shared *shared;
static CUcontext context;
static long process_index;

static void futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT, value, ns ? &t : NULL, NULL, 0);
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void count_up(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	futex_wake(word);
}

static struct work work_of_options(void)
{
	static const char *const jobs[] = {"pair", "info", "launch", "idle", NULL};
	static const char *const doors[] = {"link", "dlsym", "resolver", NULL};
	static const char *const orders[] = {"newest", "oldest", "random", NULL};

	return (struct work){
		.job = (enum job)options_index(option.job, jobs, "job"),
		.door = (enum door)options_index(option.door, doors, "door"),
		.order = (enum order)options_index(option.order, orders, "order"),
		.live = (size_t)option.live,
		.bytes = (size_t)option.bytes,
	};
}

static void *thread(void *arg)
{
	const long index = process_index * option.threads + (long)(intptr_t)arg;
	struct result *const result = &shared->result[index];
	struct work work = work_of_options();

	if (option.spread && option.cpu < 0)
		pin_in_turn(index);
	NEED(cuCtxSetCurrent(context));
	if (!work_start(&work, (uint64_t)option.patience * MS))
		__atomic_store_n(&shared->slow, 1, __ATOMIC_SEQ_CST);
	count_up(&shared->ready);
	for (uint32_t run = 0;; run++) {
		while (__atomic_load_n(&shared->go, __ATOMIC_SEQ_CST) == run)
			futex_wait(&shared->go, run, 0);
		if (work.job != JOB_IDLE) {
			uint64_t before, after, warm_ns;

			if (shared->warm)
				work_until(&work, shared->begin_ns, &warm_ns);
			before = pace_ns();
			sleep_until(shared->begin_ns);
			/* Of many in turn some have no processor in that time. */
			result->count = 0;
			if (option.processes * option.threads == 1 || now_ns() < shared->end_ns)
				result->count =
					work_until(&work, shared->end_ns, &result->elapsed_ns);
			after = pace_ns();
			result->pace_ns = before > after ? before : after;
		}
		count_up(&shared->done);
	}
	return NULL;
}

static void process(long index)
{
	char name[32];

	process_index = index;
	snprintf(name, sizeof(name), "crowd-%ld", option.tenants ? index % option.tenants : 0);
	if (option.tenants)
		setenv("CUQUOTA_TENANT", name, 1);
	/* The simulated driver counts each tag apart: of one tag processes would wait there. */
	snprintf(name, sizeof(name), "bench-%ld", index);
	if (option.processes > 1 && option.processes <= OWN_TAGS)
		setenv("SIMGPU_TAG", name, 1);
	if (option.cpu >= 0)
		pin_to(option.cpu);
	context = context_start();
	for (long i = 1; i < option.threads; i++) {
		pthread_t id;

		if (pthread_create(&id, NULL, thread, (void *)(intptr_t)i))
			STOP("no thread %ld", i);
	}
	thread(0);
}

/* Until `count` threads are there; a child that ended ends us. */
static void wait_for(uint32_t *word, uint32_t count)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < count) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			STOP("a process ended early");
		futex_wait(word, seen, 100 * MS);
	}
}

static void run(uint64_t us, uint64_t warm_us)
{
	const uint32_t all = (uint32_t)(option.processes * option.threads);
	/* Many must first have been woken. */
	const uint64_t begin = now_ns() + warm_us * 1000 + (all > 1 ? 2 * MS + all * 20000ull : 0);
	uint64_t count = 0, pace = 0, slowest = 0;

	shared->warm = warm_us != 0;
	shared->begin_ns = begin;
	shared->end_ns = begin + us * 1000;
	__atomic_store_n(&shared->done, 0, __ATOMIC_SEQ_CST);
	count_up(&shared->go);
	wait_for(&shared->done, all);
	for (uint32_t i = 0; i < all; i++) {
		const struct result *const result = &shared->result[i];

		count += result->count;
		slowest = result->pace_ns > slowest ? result->pace_ns : slowest;
		if (result->count && result->pace_ns > pace)
			pace = result->pace_ns;
	}
	printf("%llu %llu %llu\n", (unsigned long long)count,
	       (unsigned long long)(all == 1 ? shared->result[0].elapsed_ns : us * 1000),
	       (unsigned long long)(count ? pace : slowest));
	fflush(stdout);
}

static void fork_all(void)
{
	const pid_t parent = getpid();

	for (long i = 0; i < option.processes; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			STOP("fork: %s", strerror(errno));
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			process(i);
		}
		if (!i)
			wait_for(&shared->ready, (uint32_t)option.threads);
	}
	wait_for(&shared->ready, (uint32_t)(option.processes * option.threads));
}

int main(int argc, char **argv)
{
	const struct option known[] = {
		{"job", &option.job, NULL},
		{"door", &option.door, NULL},
		{"order", &option.order, NULL},
		{"live", NULL, &option.live},
		{"bytes", NULL, &option.bytes},
		{"processes", NULL, &option.processes},
		{"threads", NULL, &option.threads},
		{"cpu", NULL, &option.cpu},
		{"spread", NULL, &option.spread},
		{"tenants", NULL, &option.tenants},
		{"patience", NULL, &option.patience},
		{"count", NULL, &option.count},
		{0},
	};
	char line[64];
	size_t bytes;

	options_parse(argc, argv, known);
	if (option.count) {
		struct work work = work_of_options();

		context_start();
		if (!work_start(&work, (uint64_t)option.patience * MS))
			return 1;
		work_count(&work, (uint64_t)option.count);
		return 0;
	}
	bytes = sizeof(*shared) +
		(size_t)(option.processes * option.threads) * sizeof(struct result);
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		STOP("mmap: %s", strerror(errno));
	fork_all();
	puts(shared->slow ? "slow" : "ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *rest;
		const uint64_t us = strtoull(line + strlen("run "), &rest, 10);

		run(us, strtoull(rest, NULL, 10));
	}
	/* The children die with us. */
	return 0;
}
