/*
 * A member announced what it is about to take and is stopped; another of its tenant waits for it
 * and says so in the same word. What is shown as announced is the bytes alone.
 */
#include "proc_helper.h"

#include <cuquota/cuquota.h>

int main(int argc, char **argv)
{
	const struct order stopped = order_units(OP_CHARGE, 300 * MIB);
	const struct cuquota_snapshot *now;
	struct cuquota *ledgers;
	struct worker *w[2];
	struct answer a;
	unsigned shown = 0;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	for (int i = 0; i < 2; i++)
		w[i] = worker_joined("a", BYTES(GIB), 0);
	worker_arm(w[0], "account.announced", 1, SIGSTOP);
	worker_tell(w[0], &stopped);
	CHECK_EQ(worker_hear(w[0], &a), HEARD_STOPPED);
	CHECK_EQ(worker_units(w[1], OP_CHARGE, 800 * MIB).rc, -EDQUOT);
	CHECK(segment_slot(ledger(), w[0]->slot)->pending & CUQUOTA_WAITED);
	CHECK_EQ(cuquota_open(world.dir, &ledgers), 0);
	CHECK_EQ(cuquota_snapshot(ledgers, &now), 0);
	for (uint32_t i = 0; i < now->device[0].tenant[0].member_count; i++) {
		const struct cuquota_member_info *const m = &now->device[0].tenant[0].member[i];

		if (m->slot != w[0]->slot)
			continue;
		shown++;
		CHECK_EQ(m->pending, BYTES(300 * MIB));
	}
	CHECK_EQ(shown, 1u);
	cuquota_close(ledgers);
	worker_go_on(w[0]);
	CHECK_EQ(worker_hear(w[0], &a), HEARD);
	CHECK_EQ(a.rc, 0);
	return 0;
}
