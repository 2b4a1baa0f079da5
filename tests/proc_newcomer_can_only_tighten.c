/*
 * Who sets the limit: the first process of a tenant; while it has members a newcomer can only
 * tighten. All orders of {no settings, 1 GiB, 2 GiB} as first, second and third on a fresh ledger:
 * no process ever runs under a looser limit than it brought itself, and a conflict is reported with
 * what is in force.
 */
/* report: SS-04 */
#include "proc_helper.h"

static const uint64_t brought[] = {CUQUOTA_NONE, BYTES(GIB), BYTES(2 * GIB)};

static void order_of(int first, int second, int third)
{
	const int order[] = {first, second, third};
	uint64_t in_force = CUQUOTA_NONE;
	struct worker *w[3];

	world_start(BYTES(8 * GIB), 20);
	for (int i = 0; i < 3; i++) {
		const uint64_t mine = brought[order[i]];
		const struct order o = order_join("a", mine, 0);
		struct answer a;

		w[i] = worker_start();
		a = worker_do(w[i], &o);
		CHECK_EQ(a.rc, 0);
		if (mine < in_force)
			in_force = mine;
		CHECK_EQ(a.outcome.limit, in_force);
		CHECK_EQ((int)a.outcome.conflict, (int)(mine != CUQUOTA_NONE && mine != in_force));
		for (int k = 0; k <= i; k++) {
			const struct answer refused = worker_units(w[k], OP_CHARGE, 9 * GIB);

			/* Without a limit and without requests nothing stands in the way. */
			if (in_force == CUQUOTA_NONE) {
				CHECK_EQ(refused.rc, 0);
				worker_refund(w[k], 9 * GIB);
				continue;
			}
			CHECK_EQ(refused.rc, -EDQUOT);
			CHECK_EQ(refused.refusal.limit, in_force);
			CHECK_LE(refused.refusal.limit, brought[order[k]]);
		}
	}
	if (in_force != CUQUOTA_NONE) {
		CHECK_EQ(worker_charge(w[0], (uint32_t)(in_force / CUQUOTA_UNIT)), 0);
		CHECK_EQ(worker_charge(w[1], 1), -EDQUOT);
		CHECK_EQ(worker_charge(w[2], 1), -EDQUOT);
	}
	world_end();
}

/* A tenant whose members are all gone, killed or not, begins anew with what the next one brings,
 * looser or not. */
static void begins_anew(bool by_kill)
{
	const struct order two = order_join("a", BYTES(2 * GIB), 0);
	struct worker *w;
	struct answer a;

	world_start(BYTES(8 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, GIB), 0);
	if (by_kill)
		worker_kill(w);
	else
		CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
	w = worker_start();
	a = worker_do(w, &two);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.outcome.limit, BYTES(2 * GIB));
	CHECK_EQ((int)a.outcome.conflict, 0);
	CHECK_EQ(worker_charge(w, 2 * GIB), 0);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	for (int first = 0; first < 3; first++)
		for (int second = 0; second < 3; second++)
			for (int third = 0; third < 3; third++)
				order_of(first, second, third);
	begins_anew(false);
	begins_anew(true);
	return 0;
}
