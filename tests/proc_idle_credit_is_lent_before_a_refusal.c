/*
 * What a member keeps as credit is nobody's: before another is refused, by the limit or by
 * a guarantee, that credit is taken back. All of the limit can be had by one member while
 * the others hold nothing.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	struct worker *one, *two, *other;

	workers_enter(argc, argv, NULL);
	/* By the limit: of the own tenant. */
	world_start(BYTES(4 * GIB), 20);
	one = worker_joined("a", BYTES(GIB), 0);
	two = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(one, 512 * MIB), 0);
	worker_refund(one, 16 * MIB);
	CHECK_OP(CUQUOTA_CREDIT(ledger_slot(one->slot).word), >, 0u);
	CHECK_EQ(worker_charge(two, 528 * MIB), 0);
	CHECK_EQ(CUQUOTA_CREDIT(ledger_slot(one->slot).word), 0u);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(one->slot).word), 496 * MIB);
	CHECK_EQ(worker_charge(one, 1), -EDQUOT);
	world_end();

	/* By a guarantee: of another tenant. */
	world_start(BYTES(GIB), 20);
	one = worker_joined("a", CUQUOTA_NONE, 0);
	other = worker_joined("b", CUQUOTA_NONE, 0);
	two = worker_joined("c", CUQUOTA_NONE, BYTES(100 * MIB));
	CHECK_EQ(worker_charge(one, 500 * MIB), 0);
	worker_refund(one, 20 * MIB);
	CHECK_OP(CUQUOTA_CREDIT(ledger_slot(one->slot).word), >, 0u);
	CHECK_EQ(worker_charge(other, 444 * MIB), 0);
	CHECK_EQ(CUQUOTA_CREDIT(ledger_slot(one->slot).word), 0u);
	CHECK_EQ(worker_charge(one, 1), -EDQUOT);
	CHECK_EQ(worker_charge(two, 100 * MIB), 0);
	world_end();
	return 0;
}
