/*
 * A tenant with a request joins and is stopped after its rules were stored and before its slot is
 * published. A borrower takes and gives back meanwhile and keeps credit. When the join has
 * returned, what would exceed the promise is refused to the borrower, credit or not.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (600 * MIB)

static void joins(const char *at, bool comes_back)
{
	const struct order join = order_join("a", CUQUOTA_NONE, BYTES(REQUEST));
	struct order first = join;
	struct worker *borrower, *w;
	struct answer a;

	world_start(BYTES(DEVICE), 20);
	borrower = worker_joined("b", CUQUOTA_NONE, 0);
	w = worker_start();
	if (comes_back) { /* its record is there, with the same request, and is promised nothing */
		first.keep_ns = 0;
		CHECK_EQ(worker_do(w, &first).rc, 0);
		CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
	}
	worker_arm(w, at, 1, SIGSTOP);
	worker_tell(w, &join);
	CHECK_EQ(worker_hear(w, &a), HEARD_STOPPED);
	CHECK_EQ(worker_charge(borrower, 424 * MIB), 0);
	worker_refund(borrower, 10 * MIB);
	a = worker_units(borrower, OP_CHARGE, 46 * MIB);
	if (!a.rc)
		worker_refund(borrower, 20 * MIB);
	worker_go_on(w);
	CHECK_EQ(worker_hear(w, &a), HEARD);
	CHECK_EQ(a.rc, 0);
	/* It may hold more than is left beside the promise, taken before the join; it
	 * may not take more now. */
	if (world.shared->holds[borrower->index] >= DEVICE - REQUEST) {
		a = worker_units(borrower, OP_CHARGE, 5 * MIB);
		if (a.rc != -EDQUOT)
			FAIL("joiner stopped at %s: the borrower, with %u units, had more beside "
			     "the promise",
			     at, world.shared->holds[borrower->index]);
	}
	/* Within its request the ledger never refuses, whatever is lent: that is between the lender
	 * and the driver. */
	CHECK_EQ(worker_charge(w, REQUEST), 0);
	world_end();
}

int main(int argc, char **argv)
{
	static const char *const points[] = {"tenant.limit_stored", "tenant.request_stored",
					     "member.settled", "member.taken",
					     "member.high_raised", "member.published"};

	workers_enter(argc, argv, NULL);
	for (int comes_back = 0; comes_back < 2; comes_back++)
		for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++)
			joins(points[i], comes_back);
	return 0;
}
