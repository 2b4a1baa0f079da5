/*
 * Whatever is recovered (the dead, ghosts, members of equal PID in other PID namespaces, lost
 * places, full tables), no process is sent a signal, not even signal 0: a system-call filter ends
 * the worker that tries. Living rows survive.
 */
/* report: SS-03 */
#include "proc_files.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define DENY(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

/* From here on a signal sent ends this process. */
static void forbid(struct self *self, const struct order *o, struct answer *a)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(kill),
		DENY(tkill),
		DENY(tgkill),
		DENY(rt_sigqueueinfo),
		DENY(rt_tgsigqueueinfo),
		DENY(pidfd_send_signal),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		a->rc = errno;
}

static void try_signal(struct self *self, const struct order *o, struct answer *a)
{
	kill(getpid(), 0);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {forbid, try_signal, fork_waiter};
	const struct shape shape = SHAPE_SMALL(8, 4);
	const struct order bar = {.op = OP_CALL, .units = 0}, probe = {.op = OP_CALL, .units = 1},
			   fork_order = {.op = OP_CALL, .units = 2},
			   join = order_join("a", BYTES(GIB), 0);
	struct worker *w, *inside = NULL, *dead, *parent, *late[8];
	struct answer a;
	pid_t child;
	int n = 0;

	workers_enter(argc, argv, calls);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	world_start(BYTES(4 * GIB), 20);
	ledger_make(&shape);
	/* The filter works at all. */
	w = worker_start();
	if (worker_do(w, &bar).rc)
		SKIP("no system-call filter to be had");
	worker_tell(w, &probe);
	CHECK_EQ(worker_hear(w, &a), HEARD_DEAD);

	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_do(w, &bar).rc, 0);
	if (geteuid() == 0) {
		inside = worker_start_in(CLONE_NEWPID, NULL);
		CHECK_EQ(worker_join(inside, "a", BYTES(GIB), 0), 0);
		CHECK_EQ(worker_charge(inside, 100 * MIB), 0);
		dead = worker_start_in(CLONE_NEWPID, NULL); /* of the same PID: 1 */
	} else {
		dead = worker_start();
	}
	CHECK_EQ(worker_join(dead, "a", BYTES(GIB), 0), 0);
	CHECK_EQ(worker_charge(dead, 300 * MIB), 0);
	parent = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(parent, 200 * MIB), 0);
	child = (pid_t)worker_do(parent, &fork_order).value;
	worker_kill(parent);
	worker_kill(dead);

	CHECK_EQ(worker_charge(w, 724 * MIB), 0); /* the dead one's; the ghost keeps its own */
	CHECK_EQ(worker_charge(w, 101 * MIB), -EDQUOT);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	world.shared->stop = 1;
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(worker_charge(w, (inside ? 200 : 300) * MIB), 0);
	/* A full table, from inside a member that may not signal. */
	for (n = 0; n < 8; n++) {
		late[n] = worker_start();
		CHECK_EQ(worker_do(late[n], &bar).rc, 0);
		if (worker_do(late[n], &join).rc == -ENFILE)
			break;
	}
	CHECK_EQ(n, inside ? 6 : 7);
	ledger_is_true("after all recoveries");
	if (inside)
		CHECK_EQ(worker_charge(inside, 1), -EDQUOT);
	CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
	return 0;
}
