/*
 * A program under the library is killed, or stopped and later continued or killed, at instructions
 * of the library all through its start, allocations of each kind, frees and refusals, with and
 * without a child that outlives it. A survivor of its tenant then fills the tenant up: by the
 * simulated card's own account the tenant never held more than its limit; while the victim is dead
 * all but a grain can be had; another tenant's program goes on within its budget; and at rest the
 * ledger says what the card holds.
 *
 * timeout: 60
 */
#include "ledger_now.h"
#include "simgpu/truth.h"
#include "step/programs.h"

#include <cuquota/ledger.h>
#include <glob.h>

#define SPARE (2 * MIB) /* that a process pays beside what it holds */
#define CONTEXT (64 * MIB)
#define FREELY 20000000ull   /* ns that an end or a stop may cost others */
#define AT_LIMIT 60000000ull /* and those at their limit */

static const struct cuquota_slot *slots;
static struct client same, other, hit;
static pid_t child;
static unsigned hits;

static struct {
	uint64_t ns;
	char what[96];
} late;

static void within(uint64_t ns, uint64_t budget, const char *what)
{
	if (ns <= budget || ns - budget < late.ns)
		return;
	late.ns = ns - budget;
	snprintf(late.what, sizeof(late.what), "%s took %.1f ms", what, (double)ns / 1e6);
}

static const char *what_was_late(uint64_t *ns)
{
	*ns = late.ns;
	return late.ns ? late.what : NULL;
}

/* Bytes that the client then holds beside its context. */
static uint64_t ask(const struct client *c, const char *order, uint64_t budget, const char *what)
{
	unsigned long long count, ns;
	const char *line;

	client_say(c, "%s", order);
	line = client_line(c, DEADLINE_MS);
	if (!line || sscanf(line, "%llu %llu", &count, &ns) != 2)
		FAIL("the survivor says \"%s\"", line ? line : "");
	within(ns, budget, what);
	return count * PIECE;
}

static struct client start(const char *what, const char *op, const char *tenant)
{
	char name[64], tag[64];
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=1G", "CUQUOTA_LOG=off", name, tag, NULL};

	snprintf(name, sizeof(name), "CUQUOTA_TENANT=%s", tenant);
	snprintf(tag, sizeof(tag), "SIMGPU_TAG=%s", tenant);
	return client_capped((const char *const[]){"/proc/self/exe", what, op, NULL}, env);
}

static const char *op_name(unsigned op)
{
	return ops[op].name;
}

static struct stepped begin(unsigned op)
{
	const char *line;
	struct stepped s;
	char number[8];
	int pid;

	snprintf(number, sizeof(number), "%u", op);
	hit = start("victim", number, "t");
	line = client_line(&hit, DEADLINE_MS);
	if (!line || sscanf(line, "ready %d", &pid) != 1)
		FAIL("the victim says \"%s\"", line ? line : "");
	child = pid;
	CHECK_EQ(truth_reset(NULL), 0);
	s = step_begin(hit.pid, step_bias(hit.pid, built("libcuquota.so")));
	client_say(&hit, "%s", "");
	return s;
}

static bool answered(void *none)
{
	struct pollfd p = {.fd = hit.from, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void end_child(void)
{
	if (!child)
		return;
	CHECK_SYS(kill(child, SIGKILL));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	child = 0;
}

static void end(void)
{
	end_child();
	close(hit.to);
	close(hit.from);
}

static void check_cap(const char *when)
{
	const int64_t most = truth_max(NULL, 0, "t");

	if (most > (int64_t)LIMIT)
		FAIL("%s: the tenant has held %lld MiB, its limit is %llu", when,
		     (long long)most >> 20, LIMIT >> 20);
}

/*
 * The victim is dead, and its child too: all is as it was before, and all can be had but what two
 * processes round to.
 */
static void check_rest(void)
{
	uint64_t held, charged;

	held = ask(&same, "fill", AT_LIMIT, "a survivor's allocation");
	check_cap("after the end");
	CHECK_GE(held + CONTEXT + SPARE + PIECE, LIMIT);
	ask(&same, "give", AT_LIMIT, "a survivor's free");
	charged = ledger_used("t", NULL);
	if ((int64_t)charged != truth_held(NULL, 0, "t") + (int64_t)SPARE ||
	    charged != CONTEXT + SPARE)
		FAIL("at rest the ledger says %llu KiB, the card holds %lld KiB",
		     (unsigned long long)charged >> 10, (long long)truth_held(NULL, 0, "t") >> 10);
}

static void hit_at(unsigned op, unsigned turn, const struct stepped *s)
{
	const bool stopped = turn == 1;

	late.ns = 0;
	if (stopped)
		step_stop(s);
	else
		step_kill(s);
	ask(&other, "pair", FREELY, "another tenant's pair");
	/* The victim holds what it holds, in its own hands or in its child's. */
	if (stopped || child) {
		ask(&same, "fill", AT_LIMIT, "a survivor's allocation");
		check_cap("after the fill");
	}
	if (stopped && hits++ % 2) {
		CHECK_SYS(kill(hit.pid, SIGCONT));
		CLIENT_SAYS(&hit, "done");
		check_cap("after going on");
	}
	if (stopped || child)
		ask(&same, "give", AT_LIMIT, "a survivor's free");
	if (stopped) {
		CHECK_SYS(kill(hit.pid, SIGKILL));
		CHECK_EQ(waitpid(hit.pid, NULL, 0), hit.pid);
	}
	end();
	check_rest();
}

/* What the card holds, asked after calls only, and the words of the ledger. */
static bool has_changed(bool returned)
{
	static uint64_t was[2];
	uint64_t now[2] = {was[0], 0};

	if (returned)
		now[0] = (uint64_t)truth_held(NULL, 0, "t");
	for (unsigned i = 0; i < 8; i++)
		now[1] = now[1] * 31 + __atomic_load_n(&slots[i].word, __ATOMIC_SEQ_CST);
	if (!memcmp(was, now, sizeof(was)))
		return false;
	memcpy(was, now, sizeof(was));
	return true;
}

static void map_slots(void)
{
	char path[PATH_MAX];
	glob_t found;
	int file;

	snprintf(path, sizeof(path), "%s/*.ledger", getenv("CUQUOTA_DIR"));
	CHECK_EQ(glob(path, 0, NULL, &found), 0);
	file = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	CHECK_SYS(file);
	slots = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, CUQUOTA_MEMBER_OFFSET);
	CHECK(slots != MAP_FAILED);
	close(file);
	globfree(&found);
}

static bool is_the_librarys(const char *file, const char *name)
{
	return true;
}

int main(int argc, char **argv)
{
	struct sweep w = {.done = {"killed", "stopped"},
			  .turns = 2,
			  .scenes = OPS,
			  .name = op_name,
			  .begin = begin,
			  .answered = answered,
			  .changed = has_changed,
			  .end = end,
			  .hit = hit_at,
			  .late = what_was_late,
			  .others = 16,
			  .few = 30,
			  .most = 3000};
	unsigned runs;

	setenv("SIMGPU_DEVICES", "8G", 1);
	setenv("SIMGPU_CONTEXT", "64M", 1);
	if (argc > 2 && !strcmp(argv[1], "victim"))
		return victim((unsigned)atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "survivor"))
		return survivor();
	code_read(built("libcuquota.so"), is_the_librarys);
	/* The first alone, so that what a context costs is known. */
	same = start("survivor", "", "t");
	CLIENT_SAYS(&same, "ready");
	other = start("survivor", "", "o");
	CLIENT_SAYS(&other, "ready");
	map_slots();
	runs = sweep_run(&w, argc, argv);
	CHECK_EQ(client_wait(&same, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&other, DEADLINE_MS), 0);
	if (argc == 1 && test_long())
		CHECK_GE(runs, 1000u);
	return 0;
}
