/*
 * Once a tenant is administered, a process that brings another limit or request, tighter or
 * looser, runs under what was set, is told so, and changes nothing; also as the first
 * member after all others ended.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	struct order set = {
		.op = OP_ADMINISTER,
		.limit = BYTES(512 * MIB),
		.request = BYTES(128 * MIB),
		.name = "a",
		.keep_ns = 600000 * MS,
	};
	static const uint64_t brought[] = {CUQUOTA_NONE, BYTES(256 * MIB), BYTES(2 * GIB)};
	struct worker *w;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_do(w, &set).rc, 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			const struct order o = order_join("a", brought[i], BYTES(64 * MIB));
			struct worker *const late = worker_start();
			const struct answer a = worker_do(late, &o);

			CHECK_EQ(a.rc, 0);
			CHECK_EQ(a.outcome.limit, BYTES(512 * MIB));
			CHECK_EQ(a.outcome.request, BYTES(128 * MIB));
			CHECK_EQ((int)a.outcome.administered, 1);
			CHECK_EQ((int)a.outcome.conflict, 1);
			CHECK_EQ(worker_charge(late, 512 * MIB), 0);
			CHECK_EQ(worker_charge(late, 1), -EDQUOT);
			CHECK_EQ(worker_units(late, OP_LEAVE, 0).rc, 0);
		}
		if (!round)
			worker_kill(w);
	}
	return 0;
}
