/*
 * A joiner found its tenant with a member and goes in without the settle byte; meanwhile that
 * member leaves, and the tenant's request is not kept. What others were granted then did not see
 * the promise: it binds them when the join has returned, credit included; and where it was promised
 * to another, the joiner is refused.
 */
#include "proc_helper.h"

#define DEVICE (8 * GIB)
#define REQUEST (4 * GIB)

static struct worker *joiner;

static void begin(void)
{
	struct order join = order_join("t", CUQUOTA_NONE, BYTES(REQUEST));
	struct worker *first;
	struct answer a;

	join.keep_ns = 0;
	world_start(BYTES(DEVICE), 20);
	first = worker_start();
	CHECK_EQ(worker_do(first, &join).rc, 0);
	joiner = worker_start();
	worker_arm(joiner, "member.settled", 1, SIGSTOP);
	worker_tell(joiner, &join);
	CHECK_EQ(worker_hear(joiner, &a), HEARD_STOPPED);
	CHECK_EQ(worker_units(first, OP_LEAVE, 0).rc, 0);
}

static struct answer go_on(void)
{
	struct answer a;

	worker_go_on(joiner);
	CHECK_EQ(worker_hear(joiner, &a), HEARD);
	return a;
}

static void binds_idle_credit(void)
{
	struct worker *borrower;

	begin();
	borrower = worker_joined("b", CUQUOTA_NONE, 0);
	CHECK_EQ(worker_charge(borrower, 7 * GIB), 0);
	worker_refund(borrower, 100 * MIB);
	CHECK_EQ(go_on().rc, 0);
	if (!worker_charge(borrower, 20 * MIB))
		FAIL("the borrower has %u MiB beside a promise of %u on a device of %u",
		     world.shared->holds[borrower->index] / MIB, REQUEST / MIB, DEVICE / MIB);
	CHECK_EQ(worker_charge(joiner, GIB), 0);
	world_end();
}

static void is_refused_beside_another(void)
{
	begin();
	worker_joined("c", CUQUOTA_NONE, BYTES(6 * GIB));
	CHECK_EQ(go_on().rc, -ENOSPC);
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	binds_idle_credit();
	is_refused_beside_another();
	return 0;
}
