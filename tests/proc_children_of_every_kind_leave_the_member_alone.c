/*
 * vfork, posix_spawn, raw clone without CLONE_VM, and raw clone with CLONE_VM as vfork's parent:
 * whatever the child does (exec, exit), the member stays alive, keeps its slot and its charge, and
 * goes on charging.
 */
#include "proc_helper.h"

#include <spawn.h>

static int wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0)
		return -errno;
	if (waitpid(pid, &status, __WALL) != pid)
		return -ECHILD;
	return status;
}

/* The member is seen alive from the child, by a program of its own: it tells by its status. */
static void by_vfork(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	a->rc = wait_for(pid);
}

static void by_vfork_exit(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execl("/nonexistent/program", "program", NULL);
		_exit(0);
	}
	a->rc = wait_for(pid);
}

static void by_spawn(struct self *self, const struct order *o, struct answer *a)
{
	char name[] = "true";
	char *const argv[] = {name, NULL};
	pid_t pid = -1;

	errno = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
	a->rc = errno ? errno : wait_for(pid);
}

static void by_clone(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		/* No libc call: a raw clone runs no handlers of it. The handle must
		 * be wiped all the same. */
		syscall(SYS_exit_group, self->member->segment ? 1 : 0);
	a->rc = wait_for(pid);
}

static int shares_memory(void *arg)
{
	struct self *const self = arg;

	/* The same address space, so the same member: what it charges is the process's. */
	return self->member->segment && account_charge(self->member, MIB, NULL) == 0 ? 0 : 1;
}

static void by_clone_vm(struct self *self, const struct order *o, struct answer *a)
{
	static char stack[65536] __attribute__((aligned(16)));
	const pid_t pid = clone(shares_memory, stack + sizeof(stack),
				CLONE_VM | CLONE_VFORK | SIGCHLD, self);

	a->rc = wait_for(pid);
	if (!a->rc)
		own_refund(self, MIB + 0 * (uint32_t)o->a);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {by_vfork, by_vfork_exit, by_spawn, by_clone,
					     by_clone_vm};
	struct order o = {.op = OP_CALL};
	struct worker *w, *other;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 500 * MIB), 0);
	for (uint32_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int rc;

		o.units = i;
		if (calls[i] == by_clone_vm)
			/* charged by the child, refunded by the call */
			world.shared->holds[w->index] += MIB;
		rc = worker_do(w, &o).rc;
		if (rc)
			FAIL("kind %u of child: %d", i, rc);
		worker_units(other, OP_SWEEP, 0);
		ledger_is_true("after a child");
		CHECK_EQ(worker_charge(other, 600 * MIB), -EDQUOT);
		CHECK_EQ(worker_charge(w, 200 * MIB), 0);
		worker_refund(w, 200 * MIB);
	}
	return 0;
}
