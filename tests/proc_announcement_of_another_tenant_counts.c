/*
 * Two tenants without a request borrow at the same time beside a third one's guarantee. The first
 * has its grant and is stopped before the commit: the second, which would fit without it only, is
 * refused, and the guarantee is whole when the first goes on.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	const struct order grow = order_units(OP_CHARGE, 300 * MIB);
	struct worker *promised, *one, *two;
	struct answer a;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(GIB), 20);
	promised = worker_joined("p", CUQUOTA_NONE, BYTES(524 * MIB));
	one = worker_joined("a", CUQUOTA_NONE, 0);
	two = worker_joined("b", CUQUOTA_NONE, 0);
	worker_arm(one, "account.committing", 1, SIGSTOP);
	worker_tell(one, &grow);
	CHECK_EQ(worker_hear(one, &a), HEARD_STOPPED);
	a = worker_units(two, OP_CHARGE, 300 * MIB);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	CHECK_EQ(worker_charge(two, 200 * MIB), 0);
	worker_go_on(one);
	CHECK_EQ(worker_hear(one, &a), HEARD);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(worker_charge(promised, 524 * MIB), 0);
	CHECK_EQ(ledger_charged(UINT32_MAX), 1024ull * MIB);
	ledger_is_true("at the end");
	return 0;
}
