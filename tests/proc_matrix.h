/*
 * What becomes of the scenes of proc_scenes.h once the victim was hit. Owns: what the survivors do,
 * how long they may take, and what must hold when all is at rest.
 */
#ifndef TESTS_PROC_MATRIX_H
#define TESTS_PROC_MATRIX_H

#include "proc_scenes.h"

#define FREELY (20 * MS)   /* what a stop or a kill may cost those not at their limit */
#define AT_LIMIT (60 * MS) /* and those at it */

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
	if (s->op.op != OP_FORCE) {
		CHECK_LE(really_held(cast.same->tenant), (uint64_t)LIMIT);
		CHECK_LE(granted(cast.same->tenant), (uint64_t)LIMIT);
	}
	settle_down(s);
	if (cast.victim->joined && worker_charge(cast.victim, MIB) == 0)
		worker_refund(cast.victim, MIB);
	ledger_is_true("at the end");
	world_end();
}

#endif
