/*
 * A trainer is killed while a process that it forked lives on with the driver's files:
 * the slot becomes a ghost, its charge stays through sweeps and refusals, and is free
 * when the child has ended.
 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_waiter};
	const struct order call = {.op = OP_CALL, .units = 0};
	struct life_file file = LIFE_FILE_CLOSED;
	struct worker *parent, *other;
	struct answer a;
	uint32_t slot;
	pid_t child;

	workers_enter(argc, argv, calls);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(LIMIT), 0);
	parent = worker_joined("a", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(parent, 600 * MIB), 0);
	slot = parent->slot;
	a = worker_do(parent, &call);
	CHECK_EQ(a.rc, 0);
	child = (pid_t)a.value;
	worker_kill(parent);
	CHECK_EQ(ledger_life(slot), LIFE_GHOST);
	/* Nor can it be claimed in order to be forgotten, and the try leaves nothing taken. */
	CHECK_EQ(life_claim(ledger(), &file, slot), -EAGAIN);
	life_close(&file);
	CHECK_EQ(ledger_life(slot), LIFE_GHOST);

	a = worker_units(other, OP_CHARGE, 600 * MIB);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ(a.refusal.used, BYTES(600 * MIB));
	worker_units(other, OP_SWEEP, 0);
	CHECK_EQ(ledger_slot(slot).state, (uint32_t)CUQUOTA_USED);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(slot).word), 600 * MIB);
	CHECK_EQ(worker_charge(other, 424 * MIB), 0);

	world.shared->stop = 1;
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(ledger_life(slot), LIFE_DEAD);
	CHECK_EQ(worker_charge(other, 600 * MIB), 0);
	ledger_is_true("after the child's end");
	return 0;
}
