/*
 * A slot that a dead member or one that left had is taken by a later joiner: empty, and with a
 * higher generation, by which the first can tell that it is no longer its own.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	uint32_t slot, gen;
	struct worker *w;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	slot = w->slot;
	gen = w->gen;
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	for (int round = 0; round < 6; round++) {
		if (round % 2)
			worker_kill(w);
		else
			CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
		/* A kill is seen by a joiner's sweep only when the last is 50 ms old, so sweep here
		 * by the joiner. */
		w = worker_start();
		worker_units(w, OP_SWEEP, 0);
		CHECK_EQ(ledger_used_slots(), 0u);
		CHECK_EQ(ledger_slot(slot).held, 0ull);
		for (uint32_t tenant = 0; tenant < 2; tenant++)
			CHECK_EQ(segment_map(ledger(), tenant)[0], 0ull);
		CHECK_EQ(worker_join(w, round % 3 ? "a" : "b", BYTES(GIB), 0), 0);
		CHECK_EQ(w->slot, slot);
		CHECK_OP(w->gen, >, gen);
		CHECK_EQ(ledger_slot(slot).gen, w->gen);
		CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(slot).word), 0u);
		CHECK_EQ(CUQUOTA_CREDIT(ledger_slot(slot).word), 0u);
		gen = w->gen;
		CHECK_EQ(worker_charge(w, GIB), 0);
		ledger_is_true("after the reuse");
	}
	return 0;
}
