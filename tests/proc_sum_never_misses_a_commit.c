/*
 * One grower has its grant and is stopped before it commits; another, summing, is stopped in
 * the middle of reading the first one's slot; the first commits and takes its announcement
 * back; the second reads on. It has seen either the announcement or the commit, never neither:
 * what it asks for is refused.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	const struct order grow = order_units(OP_CHARGE, 600 * MIB);
	struct worker *one, *two;
	struct answer a;

	workers_enter(argc, argv, NULL);
	for (int with_requests = 0; with_requests < 2; with_requests++) {
		world_start(BYTES(4 * GIB), 20);
		one = worker_joined("a", BYTES(GIB), with_requests ? BYTES(MIB) : 0);
		two = worker_joined("a", BYTES(GIB), with_requests ? BYTES(MIB) : 0);
		worker_arm(one, "account.committing", 1, SIGSTOP);
		worker_tell(one, &grow);
		CHECK_EQ(worker_hear(one, &a), HEARD_STOPPED);
		CHECK_EQ(ledger_slot(one->slot).pending, 600 * MIB);
		worker_arm(two, "sum.between", 1, SIGSTOP);
		worker_tell(two, &grow);
		CHECK_EQ(worker_hear(two, &a), HEARD_STOPPED);
		worker_go_on(one);
		CHECK_EQ(worker_hear(one, &a), HEARD);
		CHECK_EQ(a.rc, 0);
		worker_go_on(two);
		CHECK_EQ(worker_hear(two, &a), HEARD);
		CHECK_EQ(a.rc, -EDQUOT);
		CHECK_EQ(really_held(one->tenant), 600ull * MIB);
		ledger_is_true("at the end");
		world_end();
	}
	return 0;
}
