/*
 * A thread is on its way through a refund when the limit is lowered below the use, and another
 * thread of the same process has seen the new rules by the time the first goes on. What the first
 * refunds must not become credit that is charged under the new limit.
 */
#include "proc_helper.h"

#include <pthread.h>

static struct self *own;

/* Stops only this thread, in the middle of its refund, until the test lets it go. */
static void pause_here(void)
{
	__atomic_store_n(&world.shared->go, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void *refund(void *unused)
{
	own_refund(own, 20 * MIB);
	return NULL;
}

static pthread_t thread;

static void begin(struct self *self, const struct order *o, struct answer *a)
{
	own = self;
	point_call = pause_here;
	point_arm("account.refunding", 1, 0);
	CHECK_EQ(pthread_create(&thread, NULL, refund, NULL), 0);
	while (!__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void end(struct self *self, const struct order *o, struct answer *a)
{
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {begin, end};
	struct order o = {.op = OP_CALL, .units = 0};
	const struct order set = {.op = OP_ADMINISTER, .limit = BYTES(256 * MIB), .name = "a"};
	struct worker *w, *other;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	other = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 512 * MIB), 0);
	worker_do(w, &o);
	CHECK_EQ(worker_do(other, &set).rc, 0);
	CHECK_EQ(worker_charge(w, MIB), -EDQUOT);
	world.shared->stop = 1;
	o.units = 1;
	worker_do(w, &o);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(w->slot).word), 492 * MIB);
	CHECK_EQ(worker_charge(w, MIB), -EDQUOT);
	ledger_is_true("at the end");
	return 0;
}
