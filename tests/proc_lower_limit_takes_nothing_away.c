/*
 * A limit set below what is used takes nothing: every charge stays, refunds count, new charges are
 * refused until the use is below the new limit again, and no credit is kept while it is not.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	struct order set = {.op = OP_ADMINISTER, .limit = BYTES(256 * MIB), .name = "a"};
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	other = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 600 * MIB), 0);
	CHECK_EQ(worker_charge(other, 100 * MIB), 0);
	CHECK_EQ(worker_do(other, &set).rc, 0);
	CHECK_EQ(ledger_charged(UINT32_MAX), 700ull * MIB);
	a = worker_units(w, OP_CHARGE, 1);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ(a.refusal.used, BYTES(700 * MIB));
	CHECK_EQ(a.refusal.limit, BYTES(256 * MIB));
	CHECK_EQ(a.refusal.room, 0ull);
	CHECK_EQ(worker_charge(other, 1), -EDQUOT);
	CHECK_EQ(worker_units(w, OP_ROOM, 0).value, 0ull);
	worker_refund(w, 400 * MIB);
	CHECK_EQ(CUQUOTA_CREDIT(ledger_slot(w->slot).word), 0u);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	worker_refund(w, 45 * MIB);
	CHECK_EQ(worker_charge(w, MIB), 0);
	CHECK_EQ(worker_charge(other, 1), -EDQUOT);
	ledger_is_true("at the end");

	/* Released, the tenant goes by what processes bring again: a newcomer may
	 * tighten, and only that. */
	set.op = OP_RELEASE;
	CHECK_EQ(worker_do(other, &set).rc, 0);
	a = worker_do(worker_start(),
		      &(const struct order){.op = OP_JOIN, .limit = BYTES(GIB), .name = "a"});
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.outcome.limit, BYTES(256 * MIB));
	CHECK_EQ((int)a.outcome.conflict, 1);
	return 0;
}
