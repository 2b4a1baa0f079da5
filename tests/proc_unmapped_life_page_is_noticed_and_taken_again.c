/*
 * An application unmaps all that it does not know, our life page among it. The member notices that its life byte is not
 * its own, and takes it again on the same slot, with all that it has charged.
 */
#include "proc_helper.h"

static void unmap(struct self *self, const struct order *o, struct answer *a)
{
	CHECK_SYS(munmap(self->member->life.page, 4096));
}

static void close_hold(struct self *self, const struct order *o, struct answer *a)
{
	close(self->member->life.hold);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {unmap, close_hold};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	worker_do(w, &o);
	CHECK_EQ(ledger_life(w->slot), LIFE_GHOST);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 0ull);
	CHECK_EQ(worker_units(w, OP_REVIVE, 0).rc, 0);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	worker_units(other, OP_SWEEP, 0);
	ledger_is_true("after the revival");

	/* With the hold closed too the slot is dead to all others: once forgotten it is no longer to be revived. */
	worker_do(w, &o);
	o.units = 1;
	worker_do(w, &o);
	CHECK_EQ(ledger_life(w->slot), LIFE_DEAD);
	CHECK_EQ(worker_charge(other, GIB), 0);
	a = worker_units(w, OP_CURRENT, 0);
	CHECK_EQ(a.value, 0ull);
	CHECK_EQ(worker_units(w, OP_REVIVE, 0).rc, -ESTALE);
	return 0;
}
