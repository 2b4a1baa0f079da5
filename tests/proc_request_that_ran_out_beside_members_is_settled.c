/*
 * A tenant's request is not kept, one of its members has left and another is still there: whether
 * the promise held throughout is not known to the next who joins. It settles, and so joins like any
 * other, at once; the request is still promised once, and binds.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	struct order join = order_join("t", CUQUOTA_NONE, BYTES(4 * GIB));
	struct worker *w[3], *borrower;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(8 * GIB), 20);
	join.keep_ns = 0;
	for (int i = 0; i < 3; i++)
		w[i] = worker_start();
	borrower = worker_joined("b", CUQUOTA_NONE, 0);
	CHECK_EQ(worker_do(w[0], &join).rc, 0);
	CHECK_EQ(worker_do(w[1], &join).rc, 0);
	CHECK_EQ(worker_units(w[0], OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_do(w[2], &join).rc, 0);
	CHECK_EQ(worker_charge(borrower, 4 * GIB + 1), -EDQUOT);
	CHECK_EQ(worker_charge(borrower, 4 * GIB), 0);
	CHECK_EQ(worker_charge(w[2], 3 * GIB), 0);
	CHECK_EQ(worker_charge(w[1], GIB), 0);
	CHECK_EQ(worker_join(w[0], "t", CUQUOTA_NONE, BYTES(5 * GIB)), 0);
	return 0;
}
