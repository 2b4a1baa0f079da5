/*
 * Two members that both are PID 1, each in a PID namespace of its own, and a third outside: three
 * slots, three accounts. The death of one of equal PID is seen although the other lives, and takes
 * nothing from it. No PID is ever used.
 */
#include "proc_helper.h"

static unsigned long flags = CLONE_NEWPID;

static void pid_of(struct self *self, const struct order *o, struct answer *a)
{
	a->value = (uint64_t)getpid();
}

static struct worker *start_inside(const char *tenant)
{
	struct worker *const w = worker_start_in(flags, NULL);

	CHECK_EQ(worker_join(w, tenant, BYTES(GIB), 0), 0);
	return w;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {pid_of};
	const struct order o = {.op = OP_CALL, .units = 0};
	struct worker *one, *two, *outside;

	workers_enter(argc, argv, calls);
	if (geteuid() != 0) {
		const pid_t probe = (pid_t)syscall(SYS_clone,
						   CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0,
						   0);

		if (probe == 0)
			_exit(0);
		if (probe < 0)
			SKIP("neither root nor user namespaces");
		waitpid(probe, NULL, 0);
		flags = CLONE_NEWUSER | CLONE_NEWPID;
	}
	world_start(BYTES(4 * GIB), 20);
	outside = worker_joined("a", BYTES(GIB), 0);
	one = start_inside("a");
	two = start_inside("a");
	CHECK_EQ(worker_do(one, &o).value, 1ull);
	CHECK_EQ(worker_do(two, &o).value, 1ull);
	CHECK_EQ(ledger_used_slots(), 3u);
	CHECK_EQ(worker_charge(one, 300 * MIB), 0);
	CHECK_EQ(worker_charge(two, 400 * MIB), 0);
	CHECK_EQ(worker_units(outside, OP_SWEEP, 0).value, 0ull);
	ledger_is_true("with all three");
	CHECK_EQ(worker_charge(outside, 400 * MIB), -EDQUOT);
	worker_kill(one);
	CHECK_EQ(worker_charge(outside, 400 * MIB), 0);
	ledger_is_true("after one's death");
	CHECK_EQ(worker_charge(two, 224 * MIB), 0);
	CHECK_EQ(worker_charge(two, 1), -EDQUOT);
	CHECK_EQ(ledger_charged(UINT32_MAX), 1024ull * MIB);
	return 0;
}
