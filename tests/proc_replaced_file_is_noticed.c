/*
 * The ledger is unlinked, or another is put in its place, under living members (rm, logind's
 * clean-up). A member finds that its place is lost, does not crash, and joins anew with what it
 * holds; newcomers and it are in one ledger again.
 */
#include "proc_files.h"

static void joins_anew(struct self *self, const struct order *o, struct answer *a)
{
	const struct tenant_wish wish = {"a", BYTES(GIB), 0, 0};

	/* Give up the lost place, take a new one, bring all that is held. */
	member_leave(self->member);
	segment_close(&self->segment);
	a->rc = own_open(self, a->why);
	if (!a->rc)
		a->rc = member_join(self->member, &self->segment, &wish, -1, &a->outcome, a->why);
	if (!a->rc)
		account_force(self->member, world.shared->holds[self->index]);
}

static void rejoin(struct worker *w)
{
	const struct order o = {.op = OP_CALL, .units = 0};
	const struct answer a = worker_do(w, &o);

	CHECK_EQ(a.rc, 0);
	w->slot = a.slot;
	w->gen = a.gen;
	w->tenant = a.tenant;
}

static void lost(bool replaced)
{
	const struct shape shape = SHAPE_SMALL(16, 4);
	struct worker *one, *two, *late;

	world_start(BYTES(4 * GIB), 20);
	one = worker_joined("a", BYTES(GIB), 0);
	two = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(one, 300 * MIB), 0);
	CHECK_EQ(worker_charge(two, 200 * MIB), 0);
	CHECK_EQ(worker_units(one, OP_CURRENT, 0).value, 1ull);
	if (replaced)
		ledger_make(&shape); /* unlinks and makes */
	else
		CHECK_SYS(unlink(ledger_path()));
	CHECK_EQ(worker_units(one, OP_CURRENT, 0).value, 0ull);
	CHECK_EQ(worker_units(one, OP_REVIVE, 0).rc, -ESTALE);
	/* Until it looks, it works on in the old one. */
	CHECK_EQ(worker_charge(two, 100 * MIB), 0);
	late = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_units(late, OP_CURRENT, 0).value, 1ull);
	rejoin(one);
	rejoin(two);
	CHECK_EQ(worker_units(two, OP_CURRENT, 0).value, 1ull);
	CHECK_EQ(worker_charge(late, 424 * MIB), 0);
	CHECK_EQ(worker_charge(one, 1), -EDQUOT);
	CHECK_EQ(ledger_used_slots(), 3u);
	CHECK_EQ(ledger_charged(UINT32_MAX), 1024ull * MIB);
	ledger_is_true("in the new ledger");
	worker_kill(two);
	CHECK_EQ(worker_charge(one, 300 * MIB), 0);
	world_end();
}

/* Leaving a lost place takes nothing from whoever has it now. */
static void leaving_a_lost_place(void)
{
	struct worker *w, *late;

	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 300 * MIB), 0);
	CHECK_SYS(unlink(ledger_path()));
	late = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(late, 100 * MIB), 0);
	CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_units(late, OP_CURRENT, 0).value, 1ull);
	ledger_is_true("after the leave");
	world_end();
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {joins_anew};

	workers_enter(argc, argv, calls);
	lost(false);
	lost(true);
	leaving_a_lost_place();
	return 0;
}
