/*
 * Sixteen programs allocate, ask for the free memory and free, in small requests that share paid
 * grains: on one ledger they get at least 70 % of what they get with a ledger for each. Beside them
 * readers of three kinds look 50 times a second and take less than 5 % of a core each; no call
 * fails, and nobody has anything to say.
 *
 * Both sets share one simulated card and run in turns of some ms, so that what the machine does
 * meets both alike. Counted are iterations for each second of CPU, and how often a program went to
 * sleep in the middle of them: together they are the throughput, whoever else uses the machine.
 *
 * timeout: 100
 * serial: yes
 */
/* report: PF-02 */
#include "client.h"
#include "ledger_now.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PROGRAMS 16
#define LIVE 64
#define TURNS 20
#define READERS 3

static const char *const settings[] = {"CUQUOTA_MEMORY_LIMIT=20G", "CUQUOTA_TENANT=t",
				       "SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=4M", NULL};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the programs ---- */

struct spent {
	double cpu; /* s */
	long sleeps;
};

static struct spent spent_now(void)
{
	struct timespec t;
	struct rusage u;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	getrusage(RUSAGE_SELF, &u);
	return (struct spent){(double)t.tv_sec + (double)t.tv_nsec / 1e9, u.ru_nvcsw};
}

static int program(void)
{
	const __typeof__(&cuMemAlloc_v2) take = (context_now(0), CU(cuMemAlloc_v2));
	const __typeof__(&cuMemFree_v2) give = CU(cuMemFree_v2);
	const __typeof__(&cuMemGetInfo_v2) ask = CU(cuMemGetInfo_v2);
	CUdeviceptr block[LIVE];
	size_t free, total;
	char line[32];

	for (int i = 0; i < LIVE; i++)
		CHECK_EQ(take(&block[i], 4096), CUDA_SUCCESS);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		const struct spent before = spent_now();
		struct spent after;

		for (int n = atoi(line); n; n--) {
			CUdeviceptr *const b = &block[n % LIVE];

			if (give(*b) || take(b, 1000 + (size_t)n % 8000) || ask(&free, &total))
				FAIL("a call failed");
		}
		after = spent_now();
		printf("%.9f %ld\n", after.cpu - before.cpu, after.sleeps - before.sleeps);
		fflush(stdout);
	}
	return 0;
}

/* One look of a monitor: at NVML without joining, at all ledgers, or as a member that only asks. */
static void look(int kind)
{
	size_t free, total;
	nvmlDevice_t device;
	nvmlMemory_t memory;

	if (kind == 0) {
		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		CHECK_GE(memory.used, PROGRAMS * 4ull << 20);
	} else if (kind == 1) {
		CHECK_GE(ledger_used("t", NULL), PROGRAMS * 4ull << 20);
	} else {
		CHECK_EQ(CU(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
	}
}

static int reader(int kind)
{
	const double begin = now_s();
	struct pollfd p = {.fd = 0, .events = POLLIN};
	struct spent before;
	unsigned looks = 0;

	if (kind == 0)
		CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	if (kind == 2)
		context_now(0);
	look(kind);
	puts("ready");
	fflush(stdout);
	before = spent_now();
	for (; poll(&p, 1, 20) == 0; looks++)
		look(kind);
	printf("%.3f %u\n", 100 * (spent_now().cpu - before.cpu) / (now_s() - begin), looks);
	fflush(stdout);
	return 0;
}

/* ---- the test ---- */

static struct client on_one[PROGRAMS], on_own[PROGRAMS], readers[READERS];

/* Iterations for each second of CPU. */
static double speed(struct client *set, unsigned each, long *sleeps)
{
	double cpu = 0;

	for (int i = 0; i < PROGRAMS; i++)
		client_say(&set[i], "%u", each);
	for (int i = 0; i < PROGRAMS; i++) {
		const char *line;
		double took;
		long slept;

		line = client_line(&set[i], DEADLINE_MS);
		CHECK_EQ(sscanf(line ?: "", "%lf %ld", &took, &slept), 2);
		cpu += took;
		*sleeps += slept;
	}
	return PROGRAMS * each / cpu;
}

static int by_size(const void *x, const void *y)
{
	const double p = *(const double *)x, q = *(const double *)y;

	return (p > q) - (p < q);
}

/* Of what they have with a ledger for each: the median over the turns. */
static double share(void)
{
	const unsigned each = (test_long() ? 100000 : 40000) / TURNS;
	double ratio[TURNS], one = 0, own = 0;
	long slept_on_one = 0, slept_on_own = 0;

	for (int i = 0; i < TURNS; i++) {
		double a, b;

		if (i % 2)
			b = speed(on_own, each, &slept_on_own);
		a = speed(on_one, each, &slept_on_one);
		if (!(i % 2))
			b = speed(on_own, each, &slept_on_own);
		ratio[i] = a / b;
		one += a / TURNS;
		own += b / TURNS;
	}
	qsort(ratio, TURNS, sizeof(*ratio), by_size);
	printf("on one ledger %.2f M for a CPU second, %ld sleeps, on %d %.2f M, %ld sleeps; "
	       "median of the turns %.0f %%\n",
	       one / 1e6, slept_on_one, PROGRAMS, own / 1e6, slept_on_own, 100 * ratio[TURNS / 2]);
	/* One in a thousand iterations would be a queue. */
	CHECK_LE(slept_on_one, slept_on_own + (long)each * TURNS * PROGRAMS / 1000);
	return ratio[TURNS / 2];
}

static struct client start(const char *what, const char *kind, const char *folder)
{
	const char *const self[] = {"/proc/self/exe", what, kind, NULL};
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/%s", getenv("CUQUOTA_DIR"), folder);
	if (mkdir(dir, 0755) && errno != EEXIST)
		FAIL("%s: %s", dir, strerror(errno));
	snprintf(dir, sizeof(dir), "CUQUOTA_DIR=%s/%s", getenv("CUQUOTA_DIR"), folder);
	return client_capped(self, (const char *const[]){dir, NULL});
}

int main(int argc, char **argv)
{
	struct stat said;
	char text[PATH_MAX];
	const double least = 0.7;
	double had = 0;

	if (argc > 2)
		return strcmp(argv[1], "reader") ? program() : reader(atoi(argv[2]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (const char *const *s = settings; *s; s++)
		putenv(strdup(*s));
	snprintf(text, sizeof(text), "%s/log", getenv("TMPDIR"));
	setenv("CUQUOTA_LOG_FILE", text, 1);
	for (int i = 0; i < PROGRAMS; i++) {
		snprintf(text, sizeof(text), "own%d", i);
		on_one[i] = start("program", "", "one");
		CLIENT_SAYS(&on_one[i], "ready");
		on_own[i] = start("program", "", text);
		CLIENT_SAYS(&on_own[i], "ready");
	}
	for (int i = 0; i < READERS; i++) {
		snprintf(text, sizeof(text), "%d", i);
		readers[i] = start("reader", text, "one");
		CLIENT_SAYS(&readers[i], "ready");
	}
	for (int attempt = 0; attempt < 3 && had < least; attempt++)
		had = share();
	CHECK_GE((int)(100 * had), (int)(100 * least));
	for (int i = 0; i < READERS; i++) {
		double percent;
		unsigned looks;

		client_say(&readers[i], "end");
		CHECK_EQ(sscanf(client_line(&readers[i], DEADLINE_MS) ?: "", "%lf %u", &percent,
				&looks),
			 2);
		printf("reader %d: %u looks, %.2f %% of a core\n", i, looks, percent);
		CHECK_GE(looks, 3u);
		CHECK_LE((int)(100 * percent), 500);
		CHECK_EQ(client_wait(&readers[i], DEADLINE_MS), 0);
	}
	for (int i = 0; i < PROGRAMS; i++) {
		CHECK_EQ(client_wait(&on_one[i], DEADLINE_MS), 0);
		CHECK_EQ(client_wait(&on_own[i], DEADLINE_MS), 0);
	}
	if (!stat(getenv("CUQUOTA_LOG_FILE"), &said) && said.st_size)
		FAIL("somebody had %lld bytes to say", (long long)said.st_size);
	return 0;
}
