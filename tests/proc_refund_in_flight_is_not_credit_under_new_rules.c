/*
 * A thread is on its way through a refund when the limit is lowered below the use, and another
 * thread of the same process has seen the new rules by the time the first goes on. What the first
 * refunds must not become credit that is charged under the new limit, not even for as long as the
 * first needs to see the new rules too.
 */
#include "proc_helper.h"

#include <pthread.h>

static struct self *own;

/* Stops only this thread, twice in its refund: before its swap and right after. */
static void wait_for(uint32_t *word)
{
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		sched_yield();
}

static uint32_t pauses, swap, go_on;

static void pause_here(void)
{
	__atomic_store_n(&pauses, 2, __ATOMIC_SEQ_CST);
	wait_for(&go_on);
}

static void pause_before(void)
{
	__atomic_store_n(&pauses, 1, __ATOMIC_SEQ_CST);
	wait_for(&swap);
	point_call = pause_here;
	point_arm("account.refunded", 1, 0);
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
	point_call = pause_before;
	point_arm("account.refunding", 1, 0);
	CHECK_EQ(pthread_create(&thread, NULL, refund, NULL), 0);
	wait_for(&pauses);
}

static void let_it_swap(struct self *self, const struct order *o, struct answer *a)
{
	__atomic_store_n(&swap, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&pauses, __ATOMIC_SEQ_CST) != 2)
		sched_yield();
}

static void end(struct self *self, const struct order *o, struct answer *a)
{
	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {begin, let_it_swap, end};
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
	o.units = 1;
	worker_do(w, &o);
	CHECK_EQ(worker_charge(w, MIB), -EDQUOT);
	o.units = 2;
	worker_do(w, &o);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(w->slot).word), 492 * MIB);
	CHECK_EQ(worker_charge(w, MIB), -EDQUOT);
	ledger_is_true("at the end");
	return 0;
}
