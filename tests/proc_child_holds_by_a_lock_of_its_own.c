/*
 * A process and the child that it forked let go of the hold in either order: as long as one of
 * them may still have the driver's files, the slot is a ghost. Whoever is last to close what they
 * shared must not decide for the other.
 */
#include "proc_helper.h"

static void fork_one(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		a->rc = -errno;
		return;
	}
	if (!pid) {
		close(self->socket);
		__atomic_store_n(&world.shared->note[0], 1, __ATOMIC_SEQ_CST);
		while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST) &&
		       test_lives(parent))
			usleep(1000);
		_exit(0);
	}
	while (!__atomic_load_n(&world.shared->note[0], __ATOMIC_SEQ_CST))
		usleep(1000);
	a->value = (uint64_t)pid;
}

/* What the kernel does at this process's end, while the child still has the driver's files. */
static void let_go(struct self *self, const struct order *o, struct answer *a)
{
	life_release(&self->member->life);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_one, let_go};
	const struct order call = {.op = OP_CALL, .units = 0}, end = {.op = OP_CALL, .units = 1};
	struct worker *parent;
	struct answer a;
	uint32_t slot;
	pid_t child;

	workers_enter(argc, argv, calls);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	world_start(BYTES(4 * GIB), 20);
	parent = worker_joined("a", BYTES(1024 * MIB), 0);
	CHECK_EQ(worker_charge(parent, 600 * MIB), 0);
	slot = parent->slot;
	a = worker_do(parent, &call);
	CHECK_EQ(a.rc, 0);
	child = (pid_t)a.value;
	CHECK_EQ(ledger_life(slot), LIFE_ALIVE);
	worker_do(parent, &end);
	CHECK_EQ(ledger_life(slot), LIFE_GHOST);
	worker_kill(parent);
	CHECK_EQ(ledger_life(slot), LIFE_GHOST);
	world.shared->stop = 1;
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(ledger_life(slot), LIFE_DEAD);
	return 0;
}
