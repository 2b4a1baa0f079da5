/*
 * A thread was granted its rise under a limit that is lowered before it commits, and is paused
 * right after it did. Another thread of the process must not charge from that credit: it waits for
 * the first, and both are refused.
 */
#include "proc_helper.h"

#include <pthread.h>

static struct self *own;
static pthread_t grower, charger;
static int grown = 1, charged = 1;
static bool charging;

static void pause_here(void)
{
	__atomic_add_fetch(&world.shared->go, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST) <
	       __atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void *grow(void *unused)
{
	__atomic_store_n(&grown, own_charge(own, 300 * MIB, NULL), __ATOMIC_SEQ_CST);
	return NULL;
}

static void *charge(void *unused)
{
	__atomic_store_n(&charged, own_charge(own, MIB, NULL), __ATOMIC_SEQ_CST);
	__atomic_store_n(&charging, false, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Starts the growing thread and returns when it is paused before its commit. */
static void begin(struct self *self, const struct order *o, struct answer *a)
{
	own = self;
	point_call = pause_here;
	point_arm("account.committing", 1, 0);
	CHECK_EQ(pthread_create(&grower, NULL, grow, NULL), 0);
	while (__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST) < 1)
		sched_yield();
}

/* Lets it commit, pauses it again, and charges meanwhile by another thread. */
static void go_on(struct self *self, const struct order *o, struct answer *a)
{
	point_arm("account.committed", 1, 0);
	__atomic_store_n(&world.shared->stop, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST) < 2)
		sched_yield();
	charging = true;
	CHECK_EQ(pthread_create(&charger, NULL, charge, NULL), 0);
	while (__atomic_load_n(&charging, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&self->member->growing, __ATOMIC_SEQ_CST) != 2)
		sched_yield();
	__atomic_store_n(&world.shared->stop, 2, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(grower, NULL), 0);
	CHECK_EQ(pthread_join(charger, NULL), 0);
	a->rc = grown;
	a->value = (uint64_t)(int64_t)charged;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {begin, go_on};
	struct order o = {.op = OP_CALL, .units = 0};
	const struct order set = {.op = OP_ADMINISTER, .limit = BYTES(512 * MIB), .name = "a"};
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	other = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 512 * MIB), 0);
	worker_do(w, &o);
	CHECK_EQ(worker_do(other, &set).rc, 0);
	o.units = 1;
	a = worker_do(w, &o);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)(int64_t)a.value, -EDQUOT);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(w->slot).word), 512 * MIB);
	ledger_is_true("at the end");
	return 0;
}
