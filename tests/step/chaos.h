/*
 * Chaos: tenants of several programs each that take and give memory of every kind on two simulated
 * cards, one of them hurt every few ms. Owns: the programs, what befalls them, and what is checked
 * all the time and at the end.
 */
#ifndef TESTS_STEP_CHAOS_H
#define TESTS_STEP_CHAOS_H

#include "ledger_now.h"
#include "simgpu/truth.h"
#include "step/churn.h"

#include <cuquota/ledger.h>
#include <dirent.h>
#include <glob.h>
#include <sys/mman.h>

#define TENANTS 8
#define EACH 4
#define LIMIT (1024 * MIB)
#define REQUEST 512ull /* MiB, of the tenant that has a guarantee */
/*
 * What a call of those not hurt may take at most: a driver that has not yet given back what the
 * dead held is asked again for 100 ms, and a processor is waited for inside the kernel too. Beyond
 * the budget of 60 ms may be one call, and one more of each so many.
 */
#define WORST_NS 400000000ull
#define ONE_OVER_IN 10000

static struct program {
	struct client c;
	unsigned tenant;
	int64_t until_ms; /* stopped until then; 0: it runs */
	bool dies;	  /* and is killed then, instead of continued */
} programs[TENANTS * EACH];

static uint64_t state;
static bool killed_together;
static unsigned tick_ms, kills, stops, spared, ends;

static struct client start(const char *tenant, const char *request, const char *const argv[])
{
	char name[64], tag[64], asked[64];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G",
				   "CUQUOTA_LOG=off",
				   "CUQUOTA_REQUEST_KEEP=0",
				   name,
				   tag,
				   asked,
				   NULL};

	snprintf(name, sizeof(name), "CUQUOTA_TENANT=%s", tenant);
	snprintf(tag, sizeof(tag), "SIMGPU_TAG=%s", tenant);
	snprintf(asked, sizeof(asked), "CUQUOTA_MEMORY_REQUEST=%s", request);
	return client_capped(argv, env);
}

static void start_churner(struct program *p)
{
	char tenant[8], seed[24];

	snprintf(tenant, sizeof(tenant), "t%u", p->tenant);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)below(&state, 1u << 30));
	p->c = start(tenant, "0", (const char *const[]){"/proc/self/exe", "churn", seed, NULL});
	p->until_ms = 0;
}

/*
 * Those that have ended are begun anew; whoever ended otherwise than by us or in its time has found
 * a fault.
 */
static void reap(bool anew)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < TENANTS * EACH; i++) {
			struct program *const p = &programs[i];

			if (p->c.pid != pid)
				continue;
			if (!(WIFEXITED(status) && !WEXITSTATUS(status)) &&
			    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
				FAIL("program %d of tenant t%u ended with status %#x", (int)pid,
				     p->tenant, status);
			close(p->c.to);
			close(p->c.from);
			p->c.pid = 0;
			ends++;
			if (anew)
				start_churner(p);
		}
}

static void check_limits(void)
{
	static struct truth truth;

	CHECK_EQ(truth_read(NULL, &truth), 0);
	for (unsigned d = 0; d < truth.devices; d++)
		for (unsigned t = 0; t < truth.device[d].tags; t++)
			if (truth.device[d].tag[t].max > LIMIT)
				FAIL("tenant %s has held %.1f MiB beyond its limit on card %u",
				     truth.device[d].tag[t].name,
				     (double)(truth.device[d].tag[t].max - LIMIT) / (double)MIB, d);
	truth_free(&truth);
}

/*
 * Has the stopped process a lock of the simulated driver in its hands? A real driver's cannot be
 * stopped in there.
 */
static bool holds_the_driver(void)
{
	static const char *const names[] = {"grant.lock", "join.lock"};
	bool held = false;

	for (unsigned i = 0; i < 2; i++) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
		char path[PATH_MAX];
		int file;

		snprintf(path, sizeof(path), "%s/%s", getenv("SIMGPU_DIR"), names[i]);
		file = open(path, O_RDWR | O_CLOEXEC);
		if (file < 0)
			continue;
		for (int turn = 0; turn < 20; turn++) {
			lock.l_type = F_WRLCK;
			lock.l_pid = 0;
			if (fcntl(file, F_OFD_GETLK, &lock) || lock.l_type == F_UNLCK)
				break;
			usleep(500);
		}
		held |= lock.l_type != F_UNLCK;
		close(file);
	}
	return held;
}

static void kill_program(struct program *p, bool with_children)
{
	if (with_children && kill(-p->c.pid, SIGKILL) == 0)
		return;
	kill(p->c.pid, SIGKILL);
}

/* What befalls one of them in this tick. */
static void hurt_one(void)
{
	struct program *const p = &programs[below(&state, TENANTS * EACH)];
	siginfo_t seen;
	const unsigned what = killed_together ? 3 : (unsigned)below(&state, 10);

	if (!p->c.pid || p->until_ms)
		return;
	if (what < 7) {
		kill_program(p, what >= 3);
		kills++;
		return;
	}
	kill(p->c.pid, SIGSTOP);
	/* All its threads: until then one may still be given a lock that it waits for. */
	CHECK_SYS(waitid(P_PID, (id_t)p->c.pid, &seen, WSTOPPED | WEXITED | WNOWAIT));
	if (holds_the_driver()) {
		kill(p->c.pid, SIGCONT);
		spared++;
		return;
	}
	p->until_ms = now_ms() + 20 + (int64_t)below(&state, 1500);
	p->dies = below(&state, 2);
	stops++;
}

static void continue_some(bool all)
{
	for (unsigned i = 0; i < TENANTS * EACH; i++) {
		struct program *const p = &programs[i];

		if (!p->c.pid || !p->until_ms || (!all && now_ms() < p->until_ms))
			continue;
		p->until_ms = 0;
		if (p->dies)
			kill_program(p, below(&state, 2));
		else
			kill(p->c.pid, SIGCONT);
	}
}

/* All that is left, children of the dead among it, is gone. */
static void end_all(void)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	int waiting = 0;

	for (unsigned i = 0; i < TENANTS * EACH; i++)
		if (programs[i].c.pid)
			kill_program(&programs[i], below(&state, 2));
	/* The witnesses are all that is left: their count of children. */
	do {
		char path[64], line[4096] = "";
		int file;

		reap(false);
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
		file = open(path, O_RDONLY | O_CLOEXEC);
		CHECK_SYS(file);
		CHECK_GE(read(file, line, sizeof(line) - 1), (ssize_t)0);
		close(file);
		waiting = 0;
		for (const char *at = line; (at = strchr(at, ' ')); at++)
			waiting++;
		usleep(2000);
	} while (waiting > 2 && now_ms() < until);
	CHECK_EQ(waiting, 2);
}

/* Slots in use, of all ledgers; and no file that is not a ledger or one of its locks. */
static unsigned slots_in_use(void)
{
	DIR *const dir = opendir(getenv("CUQUOTA_DIR"));
	struct dirent *e;
	unsigned used = 0;

	CHECK(dir);
	while ((e = readdir(dir))) {
		const char *const dot = strchr(e->d_name, '.');
		const struct cuquota_slot *slots;
		char path[PATH_MAX];
		int file;

		if (e->d_name[0] == '.')
			continue;
		if (!dot || (strcmp(dot, ".ledger") && strcmp(dot, ".settle") &&
			     strncmp(dot, ".life.", 6) && strcmp(dot, ".ledger.settle") &&
			     strncmp(dot, ".ledger.life.", 13)))
			FAIL("%s was left behind", e->d_name);
		if (strcmp(dot, ".ledger"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", getenv("CUQUOTA_DIR"), e->d_name);
		file = open(path, O_RDONLY | O_CLOEXEC);
		CHECK_SYS(file);
		slots = mmap(NULL, CUQUOTA_MEMBERS * sizeof(*slots), PROT_READ, MAP_SHARED, file,
			     CUQUOTA_MEMBER_OFFSET);
		CHECK(slots != MAP_FAILED);
		for (unsigned i = 0; i < CUQUOTA_MEMBERS; i++)
			used += slots[i].state != CUQUOTA_FREE;
		munmap((void *)(uintptr_t)slots, CUQUOTA_MEMBERS * sizeof(*slots));
		close(file);
	}
	closedir(dir);
	return used;
}

static void judge(struct client *c, const char *what, bool guaranteed)
{
	unsigned long calls, refused, over;
	unsigned long long worst;
	const char *line;

	client_say(c, "%s", "");
	line = client_line(c, DEADLINE_MS);
	if (!line || sscanf(line, "%lu %lu %lu %llu", &calls, &refused, &over, &worst) != 4)
		FAIL("%s says \"%s\"", what, line ? line : "");
	printf("%s: %lu calls, %lu refused, %lu over %.0f ms of our own, worst %.1f ms\n",
	       what, calls, refused, over, BUDGET_NS / 1e6, (double)worst / 1e6);
	if (guaranteed && refused)
		FAIL("%s: %lu of %lu allocations within the request were refused", what, refused,
		     calls);
	if (over > 1 + calls / ONE_OVER_IN || worst > WORST_NS)
		FAIL("%s: %lu calls of %lu waited too long, one for %.1f ms", what, over, calls,
		     (double)worst / 1e6);
}

/*
 * The whole test. `together`: programs that hold memory by handle are killed at the same moment as
 * their children, every few ms, and nothing else happens.
 */
static int chaos(int argc, char **argv, bool together)
{
	const char *const seed = getenv("SEED"), *const seconds = getenv("CHAOS_SECONDS");
	const char *const request = "512M";
	struct client promised, crowded;
	char megabytes[16];
	int64_t until;

	if (argc > 2 && !strcmp(argv[1], "churn"))
		return churner(argv[2], together);
	if (argc > 2 && !strcmp(argv[1], "witness"))
		return witness(argv[2]);
	tick_ms = together ? 10 : 50;
	killed_together = together;
	setenv("SIMGPU_DEVICES", "6G,6G", 1);
	setenv("SIMGPU_CONTEXT", "32M", 1);
	state = seed ? strtoull(seed, NULL, 10) : clock_ns() % 1000000007;
	state |= state == 0;
	printf("SEED=%llu\n", (unsigned long long)state);
	fflush(stdout);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	/*
	 * Alone at first, so that what a context costs is known. It takes what it was promised but
	 * for its context.
	 */
	snprintf(megabytes, sizeof(megabytes), "%llu", REQUEST - 64);
	promised = start("p", request,
			 (const char *const[]){"/proc/self/exe", "witness", megabytes, NULL});
	CLIENT_SAYS(&promised, "ready");
	crowded = start("t0", "0", (const char *const[]){"/proc/self/exe", "witness", "256", NULL});
	CLIENT_SAYS(&crowded, "ready");
	for (unsigned i = 0; i < TENANTS * EACH; i++) {
		programs[i].tenant = i % TENANTS;
		start_churner(&programs[i]);
	}
	until = now_ms() + (seconds ? atoi(seconds) : test_long() ? 300
								  : 8) *
				   1000;
	for (int64_t tick = now_ms(); now_ms() < until; tick += tick_ms) {
		if (now_ms() < tick)
			usleep((useconds_t)(tick - now_ms()) * 1000);
		hurt_one();
		continue_some(false);
		reap(true);
		check_limits();
	}
	continue_some(true);
	end_all();
	check_limits();
	judge(&promised, "the promised", true);
	judge(&crowded, "the crowded", false);
	/* Both have swept: what is left is theirs. */
	CHECK_EQ(slots_in_use(), 2u * CARDS);
	for (unsigned i = 0; i < CARDS; i++)
		CHECK_EQ(truth_resident(NULL, i), (int64_t)(2 * 32 * MIB));
	CHECK_EQ(client_wait(&promised, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&crowded, DEADLINE_MS), 0);
	CHECK_EQ(ledger_used(NULL, NULL), (uint64_t)0);
	for (unsigned i = 0; i < CARDS; i++)
		CHECK_EQ(truth_resident(NULL, i), (int64_t)0);
	printf("%u killed, %u stopped, %u spared in the simulated driver's lock, %u ended\n", kills,
	       stops, spared, ends);
	return 0;
}

#endif
