/*
 * A daemon's start closes all descriptors from 3 on. The member stays alive, its charge counts, it
 * goes on; when it is killed it is forgotten as any other.
 */
#include "proc_helper.h"

static void close_all(struct self *self, const struct order *o, struct answer *a)
{
	/* All but the test's own socket, which the test needs; by number as closefrom does. */
	for (int i = 3; i < 256; i++)
		if (i != self->socket)
			close(i);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {close_all};
	const struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w, *other;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	worker_do(w, &o);
	CHECK_EQ(worker_charge(other, 200 * MIB), -EDQUOT);
	CHECK_EQ(worker_units(other, OP_SWEEP, 0).value, 0ull);
	ledger_is_true("after closefrom");
	CHECK_EQ(worker_charge(w, 100 * MIB), 0);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	worker_kill(w);
	CHECK_EQ(worker_charge(other, GIB), 0);
	ledger_is_true("after the kill");
	return 0;
}
