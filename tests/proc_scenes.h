/*
 * Scenes for "at any point": a ledger with a victim about to do one operation, and survivors of
 * every kind. Owns: the scenes, how they are set, and the list of the points that each passes.
 * Promise: a scene is the same each time, so a point seen in the listing run is reached again in
 * the next; and it is what it claims: the victim has the credit that it should have before the
 * operation, and the listing run ends with the credit and the verdict of the way it stands for.
 */
#ifndef TESTS_PROC_SCENES_H
#define TESTS_PROC_SCENES_H

#include "proc_files.h"

#define LIMIT (1024 * MIB) /* of tenant a, that of victim and `same` */
#define CREDIT (8 * MIB)   /* that a member holds WITH_CREDIT */
#define MARK (32 * MIB)	   /* the most that a refund leaves as credit */

enum trait {
	VICTIM_LATE = 1,     /* not joined before */
	VICTIM_HIGH = 2,     /* its slot lies above those of its tenant's others */
	EMPTY_WORLD = 4,     /* no file, no member before */
	TIGHT = 8,	     /* what the victim asks for leaves the others at the limit */
	WITH_DEAD = 16,	     /* a member of tenant a was killed and is not yet forgotten */
	WITH_PEER = 32,	     /* another member is stopped in mid-grow, until the victim was hit */
	WITH_CREDIT = 64,    /* the victim holds credit */
	FEW_TENANTS = 128,   /* the table is full but for a tenant that is gone */
	NEW_RULES = 256,     /* the rules changed since the victim grew last */
	UNMAPPED = 512,	     /* the victim has lost its life page */
	ALONE = 1024,	     /* the victim is its tenant's only member (tenant l) */
	OTHERS_RULES = 2048, /* another tenant's rules changed since: the credit is still there */
};

struct scene {
	const char *name;
	unsigned traits;
	struct order op;
	/* What it claims: the victim's credit, units, before and after, and why it is refused. */
	uint32_t before, after;
	enum refusal_cause cause;
};

#define OF(what, amount) \
	.op = {          \
		.op = (what), .units = (amount)}
#define CHARGE(units) OF(OP_CHARGE, units)
#define REFUND(units) OF(OP_REFUND, units)
#define FORCE(units) OF(OP_FORCE, units)

#define JOIN(tenant, bytes, asked) \
	.op = {                    \
		.op = OP_JOIN, .name = tenant, .limit = (bytes), .request = (asked), .keep_ns = 1}

#define SET(who, most, asked) \
	.op = {               \
		.op = OP_ADMINISTER, .name = who, .limit = (most), .request = (asked), .keep_ns = 1}

static const struct scene scenes[] = {
	{"the first join of all", VICTIM_LATE | EMPTY_WORLD, JOIN("a", BYTES(LIMIT), 0)},
	{"a tenant's first join", VICTIM_LATE, JOIN("n", BYTES(GIB), BYTES(64 * MIB))},
	{"a join", VICTIM_LATE, JOIN("a", BYTES(LIMIT), 0)},
	{"a join that tightens", VICTIM_LATE, JOIN("a", BYTES(LIMIT - 64 * MIB), 0)},
	{"a join that takes a gone tenant's record", VICTIM_LATE | FEW_TENANTS,
	 JOIN("n", BYTES(GIB), 0)},
	{"a charge from credit",
	 WITH_CREDIT,
	 CHARGE(MIB),
	 .before = CREDIT,
	 .after = CREDIT - MIB},
	{"a grow", 0, CHARGE(300 * MIB)},
	{"a grow beside credit",
	 WITH_CREDIT,
	 CHARGE(300 * MIB),
	 .before = CREDIT},
	/* The tightener takes the credit. */
	{"a grow under new rules", WITH_CREDIT | NEW_RULES, CHARGE(16 * MIB)},
	/* It leaves it, and the grow drops it. */
	{"a grow that drops credit of older rules",
	 WITH_CREDIT | OTHERS_RULES,
	 CHARGE(MIB),
	 .before = CREDIT},
	{"a grow to the limit", VICTIM_HIGH | TIGHT, CHARGE(724 * MIB)},
	{"a grow that finds the dead", WITH_DEAD | TIGHT, CHARGE(724 * MIB)},
	{"a refusal by the limit",
	 WITH_DEAD | TIGHT,
	 CHARGE(GIB),
	 .cause = REFUSED_LIMIT},
	{"a refusal by a guarantee",
	 ALONE | TIGHT,
	 CHARGE(4 * GIB),
	 .cause = REFUSED_GUARANTEE},
	/* As long as the peer is stopped what it announced counts as charged. */
	{"a grow that stands back",
	 VICTIM_HIGH | WITH_PEER | TIGHT,
	 CHARGE(300 * MIB),
	 .cause = REFUSED_LIMIT},
	{"a grow that stays and waits",
	 WITH_PEER | TIGHT,
	 CHARGE(300 * MIB),
	 .cause = REFUSED_LIMIT},
	{"a refund that is kept",
	 WITH_CREDIT,
	 REFUND(MIB),
	 .before = CREDIT,
	 .after = CREDIT + MIB},
	{"a refund that is dropped",
	 WITH_CREDIT,
	 REFUND(200 * MIB),
	 .before = CREDIT,
	 .after = MARK},
	{"a refund under new rules",
	 WITH_CREDIT | OTHERS_RULES,
	 REFUND(MIB),
	 .before = CREDIT,
	 .after = CREDIT},
	{"a forced charge",
	 WITH_CREDIT,
	 FORCE(16 * MIB),
	 .before = CREDIT,
	 .after = CREDIT},
	{"leaving", WITH_CREDIT, .op = {.op = OP_LEAVE}, .before = CREDIT},
	{"leaving last", ALONE, .op = {.op = OP_LEAVE}},
	{"forgetting", WITH_DEAD, .op = {.op = OP_SWEEP}},
	{"setting a limit", 0, SET("a", BYTES(LIMIT - 64 * MIB), 0)},
	{"setting a request", 0, SET("a", BYTES(LIMIT), BYTES(64 * MIB))},
	{"releasing", 0, .op = {.op = OP_RELEASE, .name = "a"}},
	{"taking a lost life byte again", UNMAPPED, .op = {.op = OP_REVIVE}},
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
}

static uint32_t credit_of(uint32_t slot)
{
	return CUQUOTA_CREDIT(ledger_slot(slot).word);
}

/* After the last who brings a rule: it would void the credit. */
TEST_USED static void give_credit(struct worker *w)
{
	CHECK_EQ(worker_charge(w, CREDIT), 0);
	worker_refund(w, CREDIT);
	CHECK_EQ(credit_of(w->slot), CREDIT);
}

static void change_rules(const char *tenant, uint32_t limit)
{
	struct order set = {.op = OP_ADMINISTER, .limit = BYTES(limit)};

	snprintf(set.name, sizeof(set.name), "%s", tenant);
	CHECK_EQ(worker_do(cast.setter, &set).rc, 0);
}

/* Of the listing run: was it the way that the scene stands for? */
TEST_USED static void went_as_claimed(const struct scene *s, const struct answer *a)
{
	const enum op op = s->op.op;

	CHECK_EQ(a->rc, s->cause ? -EDQUOT : 0);
	if (op == OP_CHARGE && s->cause)
		CHECK_EQ(a->refusal.cause, s->cause);
	CHECK_EQ(credit_of(a->slot), s->after);
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
	if (s->traits & WITH_CREDIT)
		give_credit(cast.victim);
	if (s->traits & NEW_RULES)
		change_rules("a", LIMIT - 8 * MIB);
	if (s->traits & OTHERS_RULES)
		change_rules("o", GIB - MIB / 2);
	if (s->traits & WITH_DEAD) {
		dead = worker_joined("a", BYTES(LIMIT), 0);
		CHECK_EQ(worker_charge(dead, 50 * MIB), 0);
		worker_do(cast.setter, &sweep);
		worker_kill(dead);
	}
	if (s->traits & UNMAPPED)
		worker_units(cast.victim, OP_CALL, 0);
	if (!(s->traits & VICTIM_LATE))
		CHECK_EQ(credit_of(cast.victim->slot), s->before);
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
	went_as_claimed(s, &a);
	while (n < POINTS_MOST && world.shared->points[n].name[0])
		n++;
	memcpy(points, world.shared->points, n * sizeof(points[0]));
	world_end();
	return n;
}

#endif
