/*
 * A member whose vfork child has not yet executed anything is suspended by the kernel in the middle
 * of a call. It is alive: nobody forgets it, and its charge counts.
 */
#include "proc_helper.h"

static void vfork_and_wait(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		__atomic_store_n(&world.shared->go, 1, __ATOMIC_SEQ_CST);
		while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST))
			syscall(SYS_sched_yield);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {vfork_and_wait};
	const struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, GIB), 0);
	worker_tell(w, &o);
	while (!__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST))
		sched_yield();
	CHECK_EQ(worker_charge(other, MIB), -EDQUOT);
	CHECK_EQ(worker_units(other, OP_SWEEP, 0).value, 0ull);
	ledger_is_true("during vfork");
	world.shared->stop = 1;
	CHECK_EQ(worker_hear(w, &a), HEARD);
	worker_refund(w, GIB);
	CHECK_EQ(worker_charge(other, GIB), 0);
	ledger_is_true("after vfork");
	return 0;
}
