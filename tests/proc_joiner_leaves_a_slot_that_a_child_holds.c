/*
 * A member that has left may have a child that still holds its slot's hold: who joins next takes
 * another slot, and so is forgotten as soon as it dies, whether that child lives or not.
 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_waiter};
	const struct order call = {.op = OP_CALL, .units = 0};
	struct worker *parent, *next, *other;
	struct answer a;
	uint32_t slot;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(LIMIT), 0);
	parent = worker_joined("a", BYTES(LIMIT), 0);
	slot = parent->slot;
	a = worker_do(parent, &call);
	CHECK_EQ(a.rc, 0);
	a = worker_units(parent, OP_LEAVE, 0);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(ledger_slot(slot).state, (uint32_t)CUQUOTA_FREE);

	next = worker_joined("a", BYTES(LIMIT), 0);
	CHECK(next->slot != slot);
	CHECK_EQ(worker_charge(next, 600 * MIB), 0);
	worker_kill(next);
	CHECK_EQ(worker_charge(other, 600 * MIB), 0);
	__atomic_store_n(&world.shared->stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 5000 && ledger_life(slot) != LIFE_DEAD; i++)
		usleep(1000);
	ledger_is_true("at the end");
	return 0;
}
