/*
 * A member that holds all of its tenant's limit is killed with SIGKILL: the next charge of
 * another member that would have been refused has the memory. The milliseconds from the kill
 * to the grant are printed.
 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)

int main(int argc, char **argv)
{
	struct worker *victim, *other;
	struct answer a;
	uint64_t begin;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(LIMIT), 0);
	for (int round = 0; round < 5; round++) {
		victim = worker_joined("a", BYTES(LIMIT), 0);
		CHECK_EQ(worker_charge(victim, LIMIT), 0);
		a = worker_units(other, OP_CHARGE, 1);
		CHECK_EQ(a.rc, -EDQUOT);
		CHECK_EQ(a.refusal.used, BYTES(LIMIT));
		begin = now_ns();
		worker_kill(victim);
		a = worker_units(other, OP_CHARGE, LIMIT);
		CHECK_EQ(a.rc, 0);
		printf("back %.1f ms after the kill, the charge took %.1f ms\n",
		       (double)(now_ns() - begin) / 1e6, (double)a.ns / 1e6);
		CHECK_LE(a.ns, 1000 * MS);
		ledger_is_true("after the grant");
		worker_refund(other, LIMIT);
	}
	return 0;
}
