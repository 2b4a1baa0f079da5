/*
 * A sweep over places: the instructions of our code that a process, the victim, passes in each of
 * some scenes. Owns: their list and numbers, the choice of those that are tried, and the runs to
 * them; how a scene is set and what is done and checked at a place is the test's (struct sweep).
 *
 * A place is numbered SCENE.OFFSET.NTH: the offset from the first instruction of our code, and
 * which passing of it. The same build has the same numbers; `--point NUMBER` tries one alone,
 * `--list` prints those that would be tried. Weighty places are those around a change of what is
 * shared (2: just after it), and around each call out of our code, and so around each system call.
 * Code of libc or of the driver counts as the call that led there.
 */
#ifndef TESTS_STEP_PLACES_H
#define TESTS_STEP_PLACES_H

#include "step/step.h"

#define PLACES_MOST 262144
#define CODE_MOST (1u << 20) /* bytes of our code */
#define PASSINGS 2	     /* of an instruction, in one operation */
#define AROUND 12	     /* places before and behind a load */
#define ALWAYS 3	     /* the weight of those */
#define ATTEMPTS 4	     /* at a place, on a busy machine */

struct place {
	uint32_t offset;
	uint8_t scene, nth, weight;
};

struct sweep {
	unsigned scenes;
	unsigned turns;	     /* in each of which all places are tried */
	const char *done[2]; /* what befalls the victim, in each turn: "killed" */
	unsigned few;	     /* places in the short form, of those just after a change */
	unsigned most;	     /* and in the long one: the weighty, and of the rest one in `others` */
	unsigned others;

	/* NULL: this scene is left out. */
	const char *(*name)(unsigned scene);
	/* Sets the scene and lets the victim begin; it is traced and stopped. */
	struct stepped (*begin)(unsigned scene);
	/* The victim is through. */
	bool (*answered)(void *none);
	/* Has what is shared changed since it was last asked? `returned`: from a call. */
	bool (*changed)(bool returned);
	/*
	 * What a scene's victim loads that makes the places around it tried in each form; 0: none.
	 */
	uint32_t (*loads)(unsigned scene);
	/* The victim is through: did it go the way that the scene stands for? May be NULL. */
	void (*listed)(unsigned scene, struct place *those, unsigned count);
	/* Ends all that `begin` began, the victim killed before. */
	void (*end)(void);
	/* At the place: ends or stops the victim, checks, and ends all. */
	void (*hit)(unsigned scene, unsigned turn, const struct stepped *s);
	/* What took too long in the last hit, by how much; NULL: nothing. */
	const char *(*late)(uint64_t *ns);
};

struct tally {
	unsigned runs, distinct, repeated, missed;
	bool tried[CODE_MOST];
};

static struct place places[PLACES_MOST];
static unsigned place_count;

/*
 * A bystander that only sleeps 1 ms at a time: how late it wakes at worst is what the machine costs
 * anybody.
 */
static struct control {
	uint64_t late_ns;
} * control; /* shared with it */
static pid_t bystander;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void control_start(void)
{
	const struct timespec nap = {0, 1000000};
	const pid_t parent = getpid();

	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	CHECK(control != MAP_FAILED);
	bystander = fork();
	CHECK_SYS(bystander);
	if (bystander)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		const uint64_t due = clock_ns() + 1000000u;
		uint64_t now;

		nanosleep(&nap, NULL);
		now = clock_ns();
		if (now > due && now - due > __atomic_load_n(&control->late_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&control->late_ns, now - due, __ATOMIC_RELAXED);
	}
	_exit(0);
}

static void control_end(void)
{
	CHECK_SYS(kill(bystander, SIGKILL));
	CHECK_EQ(waitpid(bystander, NULL, 0), bystander);
}

/* ---- the list ---- */

static bool is_ours(uint64_t pc)
{
	return code_at(pc) != NULL;
}

static void list_scene(const struct sweep *w, unsigned scene)
{
	static uint8_t passed[CODE_MOST];
	const struct stepped s = w->begin(scene);
	struct place *last = NULL;
	const uint32_t loads = w->loads ? w->loads(scene) : 0;
	const unsigned first = place_count;
	unsigned around = 0; /* places yet to come that lie behind the load */
	uint8_t weight = 1;  /* of the next place */
	bool ours = false, loaded = false;

	CHECK_LE(code.end - code.begin, (uint64_t)CODE_MOST);
	memset(passed, 0, sizeof(passed));
	w->changed(true);
	while (step_once(&s)) {
		const bool came_from_ours = ours;
		uint64_t pc = step_pc(&s);
		bool returned = false;

		/* A call out of our code is not stepped through. */
		if (came_from_ours && !is_ours(pc) && is_ours(step_return(&s))) {
			returned = true;
			pc = step_return(&s);
			CHECK(step_to(&s, pc, 1, w->answered, NULL));
		}
		ours = is_ours(pc);
		if (came_from_ours && w->changed(returned))
			weight = 2;
		else if ((returned || !ours) && !weight)
			weight = 1;
		if (last && !last->weight)
			last->weight = weight > 0;
		last = NULL;
		if (!ours && w->answered(NULL))
			break;
		if (loads && !loaded && came_from_ours && step_has_loaded(&s, loads)) {
			loaded = true;
			around = AROUND;
			for (unsigned i = 1; i <= AROUND && place_count - i >= first; i++)
				places[place_count - i].weight = ALWAYS;
		}
		if (!ours || passed[pc - code.begin] == PASSINGS)
			continue;
		if (around) {
			around--;
			weight = ALWAYS;
		}
		CHECK_LE(place_count, PLACES_MOST - 1u);
		last = &places[place_count++];
		*last = (struct place){(uint32_t)(pc - code.begin), (uint8_t)scene,
				       ++passed[pc - code.begin], weight};
		weight = 0;
	}
	if (w->listed)
		w->listed(scene, &places[first], place_count - first);
	step_kill(&s);
	w->end();
	if (loads && !loaded)
		FAIL("%s: the victim has not loaded %u", w->name(scene), loads);
}

/* Of `count` places evenly `wanted`; returns how many are left. */
static unsigned thin_out(struct place *all, unsigned count, unsigned wanted)
{
	if (count <= wanted)
		return count;
	for (unsigned i = 0; i < wanted; i++)
		all[i] = all[(uint64_t)i * count / wanted];
	return wanted;
}

static void choose(const struct sweep *w)
{
	static struct place always[512];
	unsigned kept = 0, seen = 0, forced = 0;

	for (unsigned i = 0; i < place_count; i++) {
		const struct place p = places[i];

		if (p.weight == ALWAYS && forced < sizeof(always) / sizeof(always[0]))
			always[forced++] = p;
		else if (p.nth == 1 && p.weight >= (test_long() ? 1 : 2))
			places[kept++] = p;
		else if (test_long() && seen++ % w->others == 0)
			places[kept++] = p;
	}
	place_count = thin_out(places, kept, test_long() ? w->most : w->few);
	memcpy(&places[place_count], always, forced * sizeof(always[0]));
	place_count += forced;
}

/* ---- the runs ---- */

/*
 * Sets the scene and runs the victim to the place. What another has done first, or the clock, may
 * lead the victim by another way: then the scene is set anew. False: that was so each time.
 */
static bool reach(const struct sweep *w, const struct place *p, struct stepped *s)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		*s = w->begin(p->scene);
		if (step_to(s, code.begin + p->offset, p->nth, w->answered, NULL))
			return true;
		step_interrupt(s);
		step_kill(s);
		w->end();
	}
	return false;
}

/* Not later than a bystander, once in some attempts. */
static void try_place(const struct sweep *w, const struct place *p, unsigned turn,
		      struct tally *tally)
{
	for (unsigned attempt = 0;; attempt++, tally->repeated++) {
		struct stepped s;
		const char *what;
		uint64_t ns;

		if (!reach(w, p, &s)) {
			tally->missed++;
			return;
		}
		control->late_ns = 0;
		w->hit(p->scene, turn, &s);
		what = w->late(&ns);
		if (!what || ns <= control->late_ns)
			break;
		if (attempt == ATTEMPTS - 1)
			FAIL("%d times: %s, over by %.1f ms; a bystander was late by %.1f ms",
			     ATTEMPTS, what, (double)ns / 1e6, (double)control->late_ns / 1e6);
	}
	tally->runs++;
	tally->distinct += !tally->tried[p->offset];
	tally->tried[p->offset] = true;
}

/* The whole test, `code` read before; returns how many places were tried. */
TEST_USED static unsigned sweep_run(const struct sweep *w, int argc, char **argv)
{
	const bool one = argc > 2 && !strcmp(argv[1], "--point"),
		   list = argc > 1 && !strcmp(argv[1], "--list");
	static struct tally tally;
	unsigned listed, scene, offset, nth;
	const int64_t began = now_ms();

	memset(&tally, 0, sizeof(tally));
	place_count = 0;
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (unsigned i = 0; i < w->scenes && !one; i++)
		if (w->name(i))
			list_scene(w, i);
	listed = place_count;
	if (one) {
		if (sscanf(argv[2], "%u.%x.%u", &scene, &offset, &nth) != 3 || scene >= w->scenes)
			FAIL("--point SCENE.OFFSET.NTH");
		places[place_count++] = (struct place){offset, (uint8_t)scene, (uint8_t)nth, 2};
	} else {
		choose(w);
	}
	control_start();
	for (unsigned i = 0; i < place_count * w->turns; i++) {
		const struct place *const p = &places[i / w->turns];

		in_context("%s, %s at %s, --point %u.%x.%u", w->name(p->scene),
			   w->done[i % w->turns], code_name(code.begin + p->offset), p->scene,
			   p->offset, p->nth);
		if (one || list)
			puts(context_text);
		if (list)
			continue;
		try_place(w, p, i % w->turns, &tally);
	}
	control_end();
	in_context("at the end");
	printf("%s%s%s %u times at %u instructions, of %u places, in %lld s; %u repeated, ",
	       w->done[0], w->done[1] ? " or " : "", w->done[1] ? w->done[1] : "", tally.runs,
	       tally.distinct, listed, (long long)(now_ms() - began) / 1000, tally.repeated);
	printf("%u not reached again\n", tally.missed);
	CHECK_LE(tally.missed, one ? 0 : 2 + place_count * w->turns / 20);
	return tally.runs;
}

#endif
