/*
 * Sixteen programs of one tenant, each with tens of thousands of live blocks, allocate and free at
 * random and fork meanwhile: children that use what they inherited, programs that come and go,
 * programs that are killed. At the end an allocation costs what it cost at the beginning, the
 * library is no larger, and no block, slot, file, mapping or descriptor is left behind.
 *
 * Costs are CPU time of one program at a time, in slices that alternate with the same program on
 * the bare driver, which churns as much: what the machine does to one it does to the other.
 *
 * timeout: 90
 */
#include "ledger_now.h"
#include "simgpu/truth.h"
#include "soak.h"

#include <dirent.h>
#include <sys/stat.h>

#define PROGRAMS 16
#define MEASURED 3
#define SLICES 11
#define CONTEXT (16 * MIB)
#define GRAIN (2 * MIB)

static unsigned rounds(void)
{
	return test_long() ? 10 : 5;
}

/* Of each program. */
static unsigned pairs_in_all(void)
{
	return test_long() ? 1250000 : 60000;
}

/* `twin` is what the first would be without the library: it is told all that that one is told. */
static struct client capped[PROGRAMS], bare, twin;

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double slice(struct client *c, unsigned pairs)
{
	client_say(c, "time %u", pairs);
	return strtod(client_line(c, DEADLINE_MS) ?: "", NULL);
}

/* ns for a pair: of the slices that were disturbed least, but for the luckiest. */
struct cost {
	double with, without, added;
};

static struct cost measure(const char *when)
{
	const unsigned least = test_long() ? 15000 : 1500;
	const unsigned pairs = pairs_in_all() / 100 / SLICES / MEASURED + least;
	double with[MEASURED * SLICES], without[MEASURED * SLICES];
	const unsigned n = MEASURED * SLICES;
	struct cost cost;

	for (unsigned i = 0; i < n; i++) {
		with[i] = slice(&capped[i / SLICES], pairs);
		without[i] = slice(&bare, pairs);
		if (i < SLICES)
			slice(&twin, pairs);
	}
	qsort(with, n, sizeof(*with), by_size);
	qsort(without, n, sizeof(*without), by_size);
	cost = (struct cost){with[n / 8], without[n / 8], with[n / 8] - without[n / 8]};
	printf("%s: %.0f ns of CPU for a pair, bare %.0f, added %.0f\n", when, cost.with,
	       cost.without, cost.added);
	return cost;
}

/* Ten times the pairs are measured in the long form, so that less of the noise is left. */
static bool dearer(const struct cost *end, const struct cost *begin)
{
	const double most = test_long() ? 1.5 : 2.5;

	return end->added > most * begin->added || end->with > most * begin->with;
}

struct look {
	long own, anonymous, maps, descriptors;
	long grains; /* that the card holds for one program, on average */
};

static struct look look(struct client *c)
{
	struct look l;
	const char *line;

	client_say(c, "look 0");
	line = client_line(c, DEADLINE_MS);
	if (!line ||
	    sscanf(line, "%ld %ld %ld %ld", &l.own, &l.anonymous, &l.maps, &l.descriptors) != 4)
		FAIL("a program says \"%s\"", line ?: "nothing");
	return l;
}

/* The largest of all programs; `anonymous` and `maps` are what the first has more than its twin. */
static struct look look_at_all(void)
{
	const struct look first = look(&capped[0]), other = look(&twin);
	struct look most = first;

	for (int i = 1; i < PROGRAMS; i++) {
		const struct look l = look(&capped[i]);

		most.own = l.own > most.own ? l.own : most.own;
		most.descriptors =
			l.descriptors > most.descriptors ? l.descriptors : most.descriptors;
	}
	most.anonymous = first.anonymous - other.anonymous;
	most.maps = first.maps - other.maps;
	most.grains = (long)(truth_held(NULL, 0, "t") / GRAIN / PROGRAMS);
	return most;
}

static struct look churn_all(unsigned round)
{
	struct look l;

	for (int i = 0; i < PROGRAMS; i++)
		client_say(&capped[i], "churn %u", pairs_in_all() / rounds());
	client_say(&bare, "churn %u", pairs_in_all() / rounds());
	client_say(&twin, "churn %u", pairs_in_all() / rounds());
	for (int i = 0; i < PROGRAMS; i++)
		CHECK_STR(client_line(&capped[i], 10 * DEADLINE_MS), "done");
	CHECK_STR(client_line(&bare, 10 * DEADLINE_MS), "done");
	CHECK_STR(client_line(&twin, 10 * DEADLINE_MS), "done");
	l = look_at_all();
	printf("round %u: own %ld KiB, %ld KiB and %ld mappings more than bare, %ld descriptors, "
	       "%ld grains\n",
	       round, l.own, l.anonymous, l.maps, l.descriptors, l.grains);
	return l;
}

/* Slots in use as they stand in the file, the dead's included, and how many ever were. */
static unsigned slots_in_use(unsigned *high)
{
	const char *const folder = getenv("CUQUOTA_DIR");
	unsigned used = 0, ledgers = 0;
	DIR *const dir = opendir(folder);
	struct dirent *e;

	CHECK(dir);
	while ((e = readdir(dir))) {
		const struct cuquota_header *h;
		const char *const end = strrchr(e->d_name, '.');
		char path[PATH_MAX];
		struct stat s;
		int file;

		if (e->d_name[0] == '.' && strlen(e->d_name) < 3)
			continue;
		/* A ledger, its settle byte's file and its first two groups of life bytes. */
		if (!end || (strcmp(end, ".ledger") && strcmp(end, ".settle") &&
			     strcmp(end, ".0") && strcmp(end, ".1")))
			FAIL("%s was left in the folder", e->d_name);
		if (strcmp(end, ".ledger"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		CHECK_SYS(file = open(path, O_RDONLY | O_CLOEXEC));
		CHECK_SYS(fstat(file, &s));
		h = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, file, 0);
		CHECK(h != MAP_FAILED);
		for (uint32_t i = 0; i < h->member_count; i++)
			used += ((const struct cuquota_slot *)((const char *)h + h->member_offset +
							       (uint64_t)i * h->member_stride))
					->state != CUQUOTA_FREE;
		*high = h->members_high;
		munmap((void *)(uintptr_t)h, (size_t)s.st_size);
		close(file);
		ledgers++;
	}
	closedir(dir);
	CHECK_EQ(ledgers, 1u);
	return used;
}

static void stays_small(const char *what, long first, long last, long slack)
{
	if (last > first + first / 20 + slack)
		FAIL("%s grew from %ld to %ld", what, first, last);
}

/* All but contexts and spare grains is given back; then they end, every second by a signal. */
static void end_all(const char *const env[])
{
	const char *const self[] = {"/proc/self/exe", "guest", "ends", NULL};
	const uint64_t each = CONTEXT + GRAIN;
	int64_t until;
	unsigned high;
	struct client last;

	for (int i = 0; i < PROGRAMS; i++)
		client_say(&capped[i], "drop 0");
	for (int i = 0; i < PROGRAMS; i++)
		CHECK_STR(client_line(&capped[i], DEADLINE_MS), "dropped");
	CHECK_EQ(ledger_used("t", NULL), PROGRAMS * each);
	CHECK_EQ(truth_held(NULL, 0, "t"), (int64_t)(PROGRAMS * CONTEXT));
	for (int i = 0; i < PROGRAMS; i++) {
		if (i % 2)
			client_kill(&capped[i], SIGKILL);
		CHECK_EQ(client_wait(&capped[i], DEADLINE_MS), i % 2 ? 128 + SIGKILL : 0);
	}
	CHECK_EQ(client_wait(&bare, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&twin, DEADLINE_MS), 0);
	/* Whoever comes next finds the table empty; its own slot is the next one's to forget. */
	for (until = now_ms() + 1000; now_ms() < until && slots_in_use(&high) > 1; usleep(60000)) {
		last = client_capped(self, env);
		CHECK_EQ(client_wait(&last, DEADLINE_MS), 0);
	}
	CHECK_EQ(slots_in_use(&high), 1u);
	printf("%u slots were ever in use at once\n", high);
	CHECK_LE(high, 5u * PROGRAMS);
	CHECK_EQ(ledger_used(NULL, NULL), 0ull);
	CHECK_EQ(truth_resident(NULL, 0), (int64_t)0);
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=200G",
				   "CUQUOTA_TENANT=t",
				   "CUQUOTA_LOG=error",
				   "SIMGPU_DEVICES=400G",
				   "SIMGPU_CONTEXT=16M",
				   "SIMGPU_TAG=t",
				   NULL};
	const char *const untagged[] = {"SIMGPU_DEVICES=400G", "SIMGPU_CONTEXT=16M", NULL};
	struct look first, now;
	struct cost cost, end;
	long more;
	char number[16];

	if (argc > 2 && !strcmp(argv[1], "guest"))
		return guest(!strcmp(argv[2], "killed"));
	if (argc > 2)
		return program(strtoull(argv[2], NULL, 10), !strcmp(argv[1], "capped"));
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Alone, so that a context's cost and what becomes of an empty grain are known from now. */
	bare = client_capped((const char *const[]){"/proc/self/exe", "capped", "99", NULL}, env);
	CLIENT_SAYS(&bare, "ready");
	client_say(&bare, "drop 0");
	CLIENT_SAYS(&bare, "dropped");
	CHECK_EQ(client_wait(&bare, DEADLINE_MS), 0);
	for (int i = PROGRAMS - 1; i >= 0; i--) {
		snprintf(number, sizeof(number), "%d", i);
		capped[i] = client_capped(
			(const char *const[]){"/proc/self/exe", "capped", number, NULL}, env);
	}
	bare = client_start((const char *const[]){"/proc/self/exe", "bare", "98", NULL}, untagged);
	twin = client_start((const char *const[]){"/proc/self/exe", "bare", "0", NULL}, untagged);
	for (int i = 0; i < PROGRAMS; i++)
		CLIENT_SAYS(&capped[i], "ready");
	CLIENT_SAYS(&bare, "ready");
	CLIENT_SAYS(&twin, "ready");
	cost = measure("the first pairs");
	end = measure("the first pairs again");
	if (end.added < cost.added)
		cost = end;
	now = first = churn_all(1);
	for (unsigned round = 2; round <= rounds(); round++)
		now = churn_all(round);
	end = measure("the last pairs");
	/* A slice that a busy machine made dear says nothing: twice more before it is believed. */
	for (int again = 0; again < 2 && dearer(&end, &cost); again++)
		end = measure("the last pairs again");
	if (dearer(&end, &cost))
		FAIL("a pair cost %.0f ns at first, %.0f of it added, and %.0f at last, %.0f of it",
		     cost.with, cost.added, end.with, end.added);
	/*
	 * The card's memory gets holes with time, and each more grain in use needs 1 KiB, of which
	 * each of 64 shards keeps the most that it ever needed. Lost ones would be some thousands.
	 */
	more = now.grains > first.grains ? 2 * (now.grains - first.grains) : 0;
	stays_small("the library's own memory, KiB,", first.own, now.own, 16 + more);
	stays_small("memory beyond the bare driver's, KiB,", first.anonymous, now.anonymous,
		    64 + more);
	stays_small("mappings beyond the bare driver's", first.maps, now.maps, 2);
	CHECK_EQ(now.descriptors, first.descriptors);
	end_all(env);
	return 0;
}
