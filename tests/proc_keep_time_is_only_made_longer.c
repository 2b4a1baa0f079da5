/*
 * How long a request is kept is a rule like limit and request: what `cuquota set` gave is not
 * replaced by what processes bring, and a newcomer beside living members can only make it longer. A
 * tenant without members takes what the first one brings.
 */
#include "proc_helper.h"

static void join_with(struct worker *w, uint64_t limit, uint64_t keep_s)
{
	struct order o = order_join("t", limit, BYTES(GIB));

	o.keep_ns = keep_s * 1000 * MS;
	CHECK_EQ(worker_do(w, &o).rc, 0);
}

static uint64_t kept_s(void)
{
	return segment_tenant(ledger(), 0)->keep_ns / (1000 * MS);
}

int main(int argc, char **argv)
{
	struct order set = order_join("t", BYTES(8 * GIB), BYTES(4 * GIB));
	struct worker *w[4];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(64 * GIB), 20);
	for (int i = 0; i < 4; i++)
		w[i] = worker_start();
	join_with(w[0], BYTES(8 * GIB), 600);
	CHECK_EQ(kept_s(), 600ull);
	/* It settles, since its limit is lower. */
	join_with(w[1], BYTES(6 * GIB), 0);
	CHECK_EQ(kept_s(), 600ull);
	CHECK_EQ(segment_tenant(ledger(), 0)->limit, BYTES(6 * GIB));
	/* Nothing but the time is other. */
	join_with(w[2], BYTES(6 * GIB), 900);
	CHECK_EQ(kept_s(), 900ull);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(worker_units(w[i], OP_LEAVE, 0).rc, 0);
	join_with(w[0], BYTES(8 * GIB), 5);
	CHECK_EQ(kept_s(), 5ull);

	set.op = OP_ADMINISTER;
	set.keep_ns = 300000 * MS;
	CHECK_EQ(worker_do(w[3], &set).rc, 0);
	CHECK_EQ(kept_s(), 300ull);
	join_with(w[1], BYTES(8 * GIB), 700);
	CHECK_EQ(kept_s(), 300ull);
	CHECK_EQ(worker_units(w[0], OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_units(w[1], OP_LEAVE, 0).rc, 0);
	join_with(w[0], BYTES(8 * GIB), 0);
	CHECK_EQ(kept_s(), 300ull);
	return 0;
}
