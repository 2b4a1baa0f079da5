/*
 * A forked child sees "not joined" by one load of its handle; it joins on its own, in another slot,
 * and charges there. Neither its join nor its end changes its parent's row.
 */
#include "proc_helper.h"

/* rc: 0, or the number of the step that went wrong in the child. */
static int child(struct self *self)
{
	struct tenant_outcome outcome;
	const struct tenant_wish wish = {"a", CUQUOTA_NONE, 0, 0};
	char why[SEGMENT_WHY];

	if (self->member->segment)
		return 1;
	if (member_join(self->member, &self->segment, &wish, -1, &outcome, why))
		return 2;
	if (account_charge(self->member, 7 * MIB, NULL))
		return 3;
	world.shared->note[0] = self->member->slot;
	world.shared->note[1] = CUQUOTA_CHARGED(member_slot(self->member)->word);
	__atomic_store_n(&world.shared->go, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST))
		usleep(500);
	return 0;
}

static void fork_one(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t pid = fork();

	if (pid == 0) {
		close(self->socket);
		_exit(child(self));
	}
	a->value = (uint64_t)pid;
}

static void wait_one(struct self *self, const struct order *o, struct answer *a)
{
	int status = 0;

	CHECK_EQ(waitpid((pid_t)o->a, &status, 0), (pid_t)o->a);
	a->rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_one, wait_one};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *parent, *other;
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	parent = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(parent, 100 * MIB), 0);
	a = worker_do(parent, &o);
	for (const int64_t until = now_ms() + DEADLINE_MS;
	     !__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST);)
		if (now_ms() > until || waitpid((pid_t)a.value, NULL, WNOHANG) > 0)
			FAIL("the child did not join");
	CHECK_EQ(ledger_used_slots(), 3u);
	CHECK_NE(world.shared->note[0], (uint64_t)parent->slot);
	CHECK_EQ(world.shared->note[1], 7ull * MIB);
	CHECK_EQ(ledger_charged(UINT32_MAX), 107ull * MIB);
	/* The parent works on while its child is a member. */
	CHECK_EQ(worker_charge(parent, 50 * MIB), 0);
	world.shared->stop = 1;
	o.units = 1;
	o.a = a.value;
	CHECK_EQ(worker_do(parent, &o).rc, 0);
	worker_units(other, OP_SWEEP, 0);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(parent->slot).word), 150 * MIB);
	ledger_is_true("after the child's end");
	return 0;
}
