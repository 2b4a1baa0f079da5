/*
 * A joiner with a limit of 1 GiB found its tenant with just that limit, and is slow to publish
 * itself. Meanwhile the tenant's only member leaves and another process, with 4 GiB, begins the
 * tenant anew. When the slow one has joined, it must not run under the looser limit: the tenant is
 * tightened to what it brought.
 */
/* report: SS-04 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	const struct order tight = order_join("a", BYTES(GIB), 0),
			   loose = order_join("a", BYTES(4 * GIB), 0);
	struct worker *first, *slow, *other;
	struct answer a;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(8 * GIB), 20);
	first = worker_joined("a", BYTES(GIB), 0);
	slow = worker_start();
	worker_arm(slow, "member.settled", 1, SIGSTOP);
	worker_tell(slow, &tight);
	CHECK_EQ(worker_hear(slow, &a), HEARD_STOPPED);
	CHECK_EQ(worker_units(first, OP_LEAVE, 0).rc, 0);
	other = worker_start();
	a = worker_do(other, &loose);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.outcome.limit, BYTES(4 * GIB));
	worker_go_on(slow);
	CHECK_EQ(worker_hear(slow, &a), HEARD);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.outcome.limit, BYTES(GIB));
	a = worker_units(slow, OP_CHARGE, 2 * GIB);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ(a.refusal.limit, BYTES(GIB));
	CHECK_EQ(worker_charge(other, 2 * GIB), -EDQUOT);
	return 0;
}
