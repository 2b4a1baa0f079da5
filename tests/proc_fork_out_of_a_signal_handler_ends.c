/*
 * A signal handler forks, and the thread that it interrupted is just changing the list of what
 * children inherit, or is in a fork itself. The fork returns in parent and child, soon, the child
 * holds by a lock of its own as ever, and the list can be used afterwards.
 */
#include "proc_helper.h"

#define MOST_MS 1000

static pid_t parent;
static uint64_t most_ns;

static void fork_here(void)
{
	const uint64_t begin = now_ns();
	pid_t pid;

	if (getpid() != parent)
		return;
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK_SYS(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	most_ns = now_ns() - begin > most_ns ? now_ns() - begin : most_ns;
}

static void fork_at(struct self *self, const struct order *o, struct answer *a)
{
	pid_t pid;

	parent = getpid();
	point_call = fork_here;
	point_arm("heir.listing", 1, 0);
	member_leave(self->member);
	CHECK_EQ(point.left, 0u);
	point_arm("heir.listing", 1, 0);
	a->rc = member_join(self->member, &self->segment,
			    &(struct tenant_wish){"a", BYTES(GIB), 0, 0}, -1, &a->outcome, a->why);
	CHECK_EQ(point.left, 0u);
	point_arm("heir.looked", 1, 0);
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK_SYS(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(point.left, 0u);
	member_leave(self->member);
	a->value = most_ns;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_at};
	const struct order call = {.op = OP_CALL};
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	a = worker_do(worker_joined("a", BYTES(GIB), 0), &call);
	CHECK_EQ(a.rc, 0);
	printf("a fork took %.1f ms at most\n", (double)a.value / 1e6);
	CHECK_LE(a.value, MOST_MS * MS);
	CHECK_EQ(ledger_used_slots(), 0u);
	return 0;
}
