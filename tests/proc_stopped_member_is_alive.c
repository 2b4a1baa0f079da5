/*
 * A member stopped by SIGSTOP (a paused container, a debugger) keeps its slot and its charge
 * however often others sweep and are refused; when continued it goes on as if nothing had been.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	worker_stop(w);
	for (int i = 0; i < 3; i++) {
		a = worker_units(other, OP_CHARGE, 200 * MIB);
		CHECK_EQ(a.rc, -EDQUOT);
		CHECK_EQ(a.refusal.used, BYTES(900 * MIB));
		CHECK_EQ(worker_units(other, OP_SWEEP, 0).value, 0ull);
	}
	ledger_is_true("while stopped");
	CHECK_EQ(worker_charge(other, 124 * MIB), 0);
	worker_go_on(w);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	worker_refund(w, 900 * MIB);
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	ledger_is_true("after going on");
	return 0;
}
