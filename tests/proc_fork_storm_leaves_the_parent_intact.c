/*
 * One thread charges and refunds without end while the main thread forks 500 times; each child does
 * nothing, exits by exit(), or reads the ledger and joins. No child hangs, the parent's row is
 * intact, no lock stays taken.
 */
/* report: FE-01 */
#include "proc_helper.h"

#include <pthread.h>

static struct self *own;
static uint32_t done;

static void *churn(void *unused)
{
	for (uint64_t random = 1; !__atomic_load_n(&done, __ATOMIC_SEQ_CST);) {
		const uint32_t units = 1 + next_random(&random) % (300 * MIB);

		if (account_charge(own->member, units, NULL) == 0)
			account_refund(own->member, units);
	}
	return NULL;
}

static int child(struct self *self, int kind)
{
	const struct tenant_wish wish = {"a", CUQUOTA_NONE, 0, 0};
	struct tenant_outcome outcome;
	char why[SEGMENT_WHY];
	struct account_use use;

	if (self->member->segment)
		return 10;
	if (kind == 0)
		return 0;
	if (kind == 1)
		exit(0);
	if (account_use(&self->segment, 0, &use))
		return 11;
	if (kind == 2)
		return 0;
	if (member_join(self->member, &self->segment, &wish, -1, &outcome, why))
		return 12;
	if (account_charge(self->member, MIB, NULL))
		return 13;
	account_refund(self->member, MIB);
	member_leave(self->member);
	return 0;
}

static void storm(struct self *self, const struct order *o, struct answer *a)
{
	pthread_t thread;

	own = self;
	CHECK_EQ(pthread_create(&thread, NULL, churn, NULL), 0);
	for (uint64_t i = 0; i < o->a && !a->rc; i++) {
		const int64_t begin = now_ms();
		int status = 0;
		pid_t pid = fork();

		if (!pid)
			_exit(child(self, (int)(i % 4)));
		/* 2 s is the field report's mark; the test's own deadline ends a
		 * child that hangs for good. */
		if (waitpid(pid, &status, 0) != pid || status) {
			a->rc = status ? status : -ECHILD;
			a->value = i;
		} else if (now_ms() - begin > 2000) {
			a->rc = -ETIMEDOUT;
			a->value = i;
		}
	}
	__atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {storm};
	struct worker *parent, *other;
	struct order o = {.op = OP_CALL, .units = 0};
	struct answer a;
	int settle;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 50);
	other = worker_joined("a", BYTES(GIB), 0);
	parent = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(parent, 100 * MIB), 0);
	o.a = test_long() ? 5000 : 500;
	worker_tell(parent, &o);
	CHECK_EQ(worker_hear(parent, &a), HEARD);
	if (a.rc)
		FAIL("child %llu ended with status %#x", (unsigned long long)a.value, a.rc);
	worker_units(other, OP_SWEEP, 0);
	ledger_is_true("after the storm");
	settle = life_settle(ledger(), 0);
	CHECK_GE(settle, 0);
	life_settled(settle);
	CHECK_EQ(worker_charge(other, 900 * MIB), 0);
	CHECK_EQ(worker_charge(parent, 24 * MIB), 0);
	CHECK_EQ(worker_charge(parent, 1), -EDQUOT);
	return 0;
}
