/*
 * Scenes for "at any point": a ledger with a victim about to do one operation, and survivors of
 * every kind. Owns: the scenes, the list of the points that each passes, and what the survivors do
 * and how long they may take.
 * Promise: a scene is the same each time, so a point seen in the listing run is
 * reached again in the next.
 */
#ifndef TESTS_PROC_MATRIX_H
#define TESTS_PROC_MATRIX_H

#include "proc_files.h"

#define LIMIT (1024 * MIB) /* of tenant a, that of victim and `same` */
#define FREELY (20 * MS)   /* what a stop or a kill may cost those not at their limit */
#define AT_LIMIT (60 * MS) /* and those at it */

enum trait {
	VICTIM_LATE = 1,   /* not joined before */
	VICTIM_HIGH = 2,   /* its slot lies above those of its tenant's others */
	EMPTY_WORLD = 4,   /* no file, no member before */
	TIGHT = 8,	   /* what the victim asks for leaves the others at the limit */
	WITH_DEAD = 16,	   /* a member of tenant a was killed and is not yet forgotten */
	WITH_PEER = 32,	   /* another member is stopped in mid-grow, until the victim was hit */
	WITH_CREDIT = 64,  /* the victim holds credit */
	FEW_TENANTS = 128, /* the table is full but for a tenant that is gone */
	NEW_RULES = 256,   /* the rules changed since the victim grew last */
	UNMAPPED = 512,	   /* the victim has lost its life page */
	ALONE = 1024,	   /* the victim is its tenant's only member (tenant l) */
};

struct scene {
	const char *name;
	unsigned traits;
	struct order op;
};

#define JOIN(tenant, bytes, asked)                                                                \
	{                                                                                         \
		.op = OP_JOIN, .name = tenant, .limit = (bytes), .request = (asked), .keep_ns = 1 \
	}

#define SET(tenant, bytes, asked)                                                          \
	{                                                                                  \
		.op = OP_ADMINISTER, .name = tenant, .limit = (bytes), .request = (asked), \
		.keep_ns = 1                                                               \
	}

static const struct scene scenes[] = {
	{"the first join of all", VICTIM_LATE | EMPTY_WORLD, JOIN("a", BYTES(LIMIT), 0)},
	{"a tenant's first join", VICTIM_LATE, JOIN("n", BYTES(GIB), BYTES(64 * MIB))},
	{"a join", VICTIM_LATE, JOIN("a", BYTES(LIMIT), 0)},
	{"a join that tightens", VICTIM_LATE, JOIN("a", BYTES(LIMIT - 64 * MIB), 0)},
	{"a join that takes a gone tenant's record", VICTIM_LATE | FEW_TENANTS,
	 JOIN("n", BYTES(GIB), 0)},
	{"a charge from credit", WITH_CREDIT, {.op = OP_CHARGE, .units = MIB}},
	{"a grow", 0, {.op = OP_CHARGE, .units = 300 * MIB}},
	{"a grow under new rules", WITH_CREDIT | NEW_RULES, {.op = OP_CHARGE, .units = 16 * MIB}},
	{"a grow to the limit", VICTIM_HIGH | TIGHT, {.op = OP_CHARGE, .units = 724 * MIB}},
	{"a grow that finds the dead", WITH_DEAD | TIGHT, {.op = OP_CHARGE, .units = 724 * MIB}},
	{"a refusal by the limit", WITH_DEAD | TIGHT, {.op = OP_CHARGE, .units = GIB}},
	{"a refusal by a guarantee", ALONE | TIGHT, {.op = OP_CHARGE, .units = 4 * GIB}},
	{"a grow that stands back",
	 VICTIM_HIGH | WITH_PEER | TIGHT,
	 {.op = OP_CHARGE, .units = 300 * MIB}},
	{"a grow that stays and waits", WITH_PEER | TIGHT, {.op = OP_CHARGE, .units = 300 * MIB}},
	{"a refund that is kept", 0, {.op = OP_REFUND, .units = MIB}},
	{"a refund that is dropped", WITH_CREDIT, {.op = OP_REFUND, .units = 200 * MIB}},
	{"a forced charge", 0, {.op = OP_FORCE, .units = 16 * MIB}},
	{"leaving", WITH_CREDIT, {.op = OP_LEAVE}},
	{"leaving last", ALONE, {.op = OP_LEAVE}},
	{"forgetting", WITH_DEAD, {.op = OP_SWEEP}},
	{"setting a limit", 0, SET("a", BYTES(LIMIT - 64 * MIB), 0)},
	{"setting a request", 0, SET("a", BYTES(LIMIT), BYTES(64 * MIB))},
	{"releasing", 0, {.op = OP_RELEASE, .name = "a"}},
	{"taking a lost life byte again", UNMAPPED, {.op = OP_REVIVE}},
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

static struct {
	struct worker *victim, *same, *other, *full, *joiner, *setter, *peer;
} cast;

TEST_USED static void unmap_life(struct self *self, const struct order *o, struct answer *a)
{
	CHECK_SYS(munmap(self->member->life.page, 4096));
}

static worker_call *const matrix_calls[] = {unmap_life};

TEST_USED static void join_others(void)
{
	CHECK_EQ(worker_join(cast.same, "a", BYTES(LIMIT), 0), 0);
	CHECK_EQ(worker_charge(cast.same, 100 * MIB), 0);
	CHECK_EQ(worker_join(cast.other, "o", BYTES(GIB), BYTES(256 * MIB)), 0);
	CHECK_EQ(worker_charge(cast.other, 64 * MIB), 0);
	CHECK_EQ(worker_join(cast.full, "f", BYTES(64 * MIB), 0), 0);
	CHECK_EQ(worker_charge(cast.full, 64 * MIB), 0);
}

static void join_victim(const struct scene *s)
{
	CHECK_EQ(worker_join(cast.victim, s->traits & ALONE ? "l" : "a",
			     s->traits & ALONE ? CUQUOTA_NONE : BYTES(LIMIT), 0),
		 0);
	CHECK_EQ(worker_charge(cast.victim, 200 * MIB), 0);
	if (s->traits & WITH_CREDIT) {
		CHECK_EQ(worker_charge(cast.victim, 8 * MIB), 0);
		worker_refund(cast.victim, 8 * MIB);
	}
}

/* Brings the peer to a stop once it has announced its grow. */
TEST_USED static void stop_at_point(struct worker *peer, const struct order *grow)
{
	struct answer a;

	worker_arm(peer, "account.announced", 1, SIGSTOP);
	worker_tell(peer, grow);
	CHECK_EQ(worker_hear(peer, &a), HEARD_STOPPED);
}

/* Another way to do so, where the objects have no points. */
static void (*stop_peer)(struct worker *peer, const struct order *grow);

static struct worker *start_peer(void)
{
	struct worker *const peer = worker_joined("a", BYTES(LIMIT), 0);
	const struct order grow = order_units(OP_CHARGE, 600 * MIB);

	(stop_peer ? stop_peer : stop_at_point)(peer, &grow);
	return peer;
}

/* Everybody in place, the victim just before its operation. */
static void scene_set(const struct scene *s)
{
	static const struct shape few = SHAPE_SMALL(70, 4);
	const struct order sweep = {.op = OP_SWEEP};
	struct worker *dead;

	world_start(BYTES(4 * GIB), 110);
	memset(&cast, 0, sizeof(cast));
	if (s->traits & FEW_TENANTS)
		ledger_make(&few);
	cast.victim = worker_start();
	cast.same = worker_start();
	cast.other = worker_start();
	cast.full = worker_start();
	cast.joiner = worker_start();
	cast.setter = worker_start();
	if (s->traits & EMPTY_WORLD)
		return;
	if ((s->traits & WITH_PEER) && (s->traits & VICTIM_HIGH))
		cast.peer = start_peer();
	if (!(s->traits & (VICTIM_LATE | VICTIM_HIGH)))
		join_victim(s);
	join_others();
	if (s->traits & VICTIM_HIGH)
		join_victim(s);
	if ((s->traits & WITH_PEER) && !(s->traits & VICTIM_HIGH))
		cast.peer = start_peer();
	if (s->traits & FEW_TENANTS) {
		CHECK_EQ(worker_join(cast.joiner, "g", BYTES(GIB), 0), 0);
		worker_units(cast.joiner, OP_LEAVE, 0);
	}
	if (s->traits & NEW_RULES) {
		const struct order set = {.op = OP_ADMINISTER,
					  .name = "a",
					  .limit = BYTES(LIMIT - 8 * MIB)};

		CHECK_EQ(worker_do(cast.setter, &set).rc, 0);
	}
	if (s->traits & WITH_DEAD) {
		dead = worker_joined("a", BYTES(LIMIT), 0);
		CHECK_EQ(worker_charge(dead, 50 * MIB), 0);
		worker_do(cast.setter, &sweep);
		worker_kill(dead);
	}
	if (s->traits & UNMAPPED)
		worker_units(cast.victim, OP_CALL, 0);
}

/*
 * The points that the operation passes, in order of the first passing, copied from the shared page.
 */
TEST_USED static unsigned scene_list(const struct scene *s, struct passed points[POINTS_MOST])
{
	const struct order list = {.op = OP_LIST};
	struct answer a;
	unsigned n = 0;

	scene_set(s);
	worker_do(cast.victim, &list);
	worker_tell(cast.victim, &s->op);
	CHECK_EQ(worker_hear(cast.victim, &a), HEARD);
	while (n < POINTS_MOST && world.shared->points[n].name[0])
		n++;
	memcpy(points, world.shared->points, n * sizeof(points[0]));
	world_end();
	return n;
}

/* Is the settle byte held by somebody? */
static bool is_settling(void)
{
	int file;

	if (access(ledger_path(), F_OK))
		return false;
	file = life_settle(ledger(), 0);
	if (file == -ENOENT)
		return false;
	life_settled(file);
	return file < 0;
}

/* The worst of what is over its budget, kept for judging after the run: a busy machine gets a
 * second chance. */
static struct {
	uint64_t ns;
	char what[160];
} late;

__attribute__((format(printf, 3, 4))) static void within(uint64_t ns, uint64_t budget,
							 const char *format, ...)
{
	va_list args;

	if (ns <= budget || ns - budget < late.ns)
		return;
	late.ns = ns - budget;
	va_start(args, format);
	vsnprintf(late.what, sizeof(late.what), format, args);
	va_end(args);
}

/*
 * What the survivors do while the victim is dead and unforgotten, or stopped. Nobody
 * waits beyond its budget, whoever is not at its limit has what it asks for, and what is
 * held stays below the limit.
 */
static void survive(const struct scene *s)
{
	const uint64_t budget = s->traits & TIGHT ? AT_LIMIT : FREELY;
	const struct order set = {.op = OP_ADMINISTER, .name = "o", .limit = BYTES(GIB - MIB)};
	const struct order join = order_join("a", BYTES(LIMIT), 0);
	struct answer a;

	if (s->traits & EMPTY_WORLD)
		join_others();
	a = worker_units(cast.other, OP_CHARGE, 16 * MIB);
	within(a.ns, FREELY, "another tenant's charge took %.1f ms", (double)a.ns / 1e6);
	CHECK_EQ(a.rc, 0);
	a = worker_units(cast.other, OP_REFUND, 16 * MIB);
	within(a.ns, FREELY, "another tenant's refund took %.1f ms", (double)a.ns / 1e6);
	a = worker_units(cast.same, OP_REFUND, MIB);
	within(a.ns, FREELY, "the same tenant's refund took %.1f ms", (double)a.ns / 1e6);
	a = worker_units(cast.same, OP_CHARGE, 16 * MIB);
	within(a.ns, budget, "the same tenant's charge took %.1f ms", (double)a.ns / 1e6);
	if (!(s->traits & TIGHT))
		CHECK_EQ(a.rc, 0);
	a = worker_units(cast.full, OP_CHARGE, MIB);
	within(a.ns, AT_LIMIT, "a refusal took %.1f ms", (double)a.ns / 1e6);
	CHECK_EQ(a.rc, -EDQUOT);
	a = worker_do(cast.joiner, &join);
	within(a.ns, AT_LIMIT, "a join took %.1f ms", (double)a.ns / 1e6);
	if (a.rc)
		FAIL("a joiner was refused: %d, %s", a.rc, a.why);
	a = worker_units(cast.joiner, OP_CHARGE, MIB);
	within(a.ns, budget, "a joiner's charge took %.1f ms", (double)a.ns / 1e6);
	if (!is_settling()) {
		a = worker_do(cast.setter, &set);
		within(a.ns, AT_LIMIT, "a change of rules took %.1f ms", (double)a.ns / 1e6);
		CHECK_EQ(a.rc, 0);
	}
	a = worker_units(cast.same, OP_FILL, 64 * MIB);
	within(a.ns, AT_LIMIT + a.value * budget, "filling up took %.1f ms", (double)a.ns / 1e6);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_LE(really_held(cast.same->tenant), (uint64_t)LIMIT);
}

/* Charged and credit of a tenant, units. */
static uint64_t granted(uint32_t tenant)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < segment_high(ledger()); i++) {
		const struct cuquota_slot slot = ledger_slot(i);

		if (slot.state == CUQUOTA_USED && slot.tenant == tenant)
			sum += (uint64_t)CUQUOTA_CHARGED(slot.word) + CUQUOTA_CREDIT(slot.word);
	}
	return sum;
}

/* At rest: the ledger is the truth, and all of the limit can be had but what is held. */
static void settle_down(const struct scene *s)
{
	const bool lower = (s->op.op == OP_ADMINISTER || s->op.op == OP_JOIN) &&
			   s->op.limit == BYTES(LIMIT - 64 * MIB);
	/* Stopped before it was forced, it comes on top of what the survivors have filled. */
	const uint64_t most = LIMIT + (s->op.op == OP_FORCE ? s->op.units : 0);
	uint64_t held;

	worker_units(cast.other, OP_SWEEP, 0);
	ledger_is_true("after the sweep");
	worker_units(cast.same, OP_FILL, 8 * MIB);
	CHECK_EQ(worker_units(cast.same, OP_FILL, MIB).rc, -EDQUOT);
	held = really_held(cast.same->tenant);
	CHECK_LE(held, most);
	CHECK_GE(held, (uint64_t)(LIMIT - (lower ? 64 * MIB : s->traits & NEW_RULES ? 8 * MIB
										    : 0)));
	CHECK_EQ(ledger_charged(cast.same->tenant), held);
	CHECK_LE(granted(cast.same->tenant), most);
}

/* ---- after the victim was hit ---- */

static void peer_goes_on(void)
{
	struct answer a;

	if (!cast.peer)
		return;
	worker_go_on(cast.peer);
	CHECK_EQ(worker_hear(cast.peer, &a), HEARD);
}

TEST_USED static void after_kill(const struct scene *s)
{
	world.shared->holds[cast.victim->index] = 0;
	peer_goes_on();
	survive(s);
	settle_down(s);
	world_end();
}

TEST_USED static void while_stopped(const struct scene *s)
{
	peer_goes_on();
	/*
	 * The first member of a tenant changes rules too: it has to wait until the stopped one is
	 * through.
	 */
	if (!(s->traits & EMPTY_WORLD) || !is_settling())
		survive(s);
}

/* The stopped one goes on to the end of its operation. */
TEST_USED static void after_stop(const struct scene *s)
{
	struct answer a;

	worker_go_on(cast.victim);
	CHECK_EQ(worker_hear(cast.victim, &a), HEARD);
	if (!cast.same->joined)
		survive(s);
	if (s->op.op == OP_JOIN) {
		if (a.rc)
			FAIL("the join failed in the end: %d, %s", a.rc, a.why);
		cast.victim->joined = true;
		cast.victim->slot = a.slot;
		cast.victim->gen = a.gen;
		cast.victim->tenant = a.tenant;
	} else if (s->op.op == OP_LEAVE) {
		cast.victim->joined = false;
	} else if (s->op.op != OP_CHARGE || a.rc != -EDQUOT) {
		/* else the survivors have filled the tenant up meanwhile */
		CHECK_EQ(a.rc, 0);
	}
	if (s->op.op != OP_FORCE)
		CHECK_LE(really_held(cast.same->tenant), (uint64_t)LIMIT);
	settle_down(s);
	if (cast.victim->joined && worker_charge(cast.victim, MIB) == 0)
		worker_refund(cast.victim, MIB);
	ledger_is_true("at the end");
	world_end();
}

#endif
