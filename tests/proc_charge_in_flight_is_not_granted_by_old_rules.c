/*
 * One thread is about to charge out of credit, another of the same process about to commit what it
 * was granted, when the limit is lowered below the use: the credit is taken, and the commit brings
 * as much again. The first must not charge that.
 */
#include "proc_helper.h"

#include <pthread.h>

#define CREDIT (20 * MIB)

static struct self *own;
static pthread_t charger, grower;
static __thread const char *stops_at;
static uint32_t charging, committing, committed, go_charge, go_commit, go_on;
static int charge_rc, grow_rc;

static void wait_for(uint32_t *word)
{
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void meet(uint32_t *reached, uint32_t *go, const char *next)
{
	stops_at = next;
	__atomic_store_n(reached, 1, __ATOMIC_SEQ_CST);
	wait_for(go);
}

static void at_point(const char *name)
{
	if (!stops_at || strcmp(name, stops_at) != 0)
		return;
	if (!strcmp(name, "account.charging"))
		meet(&charging, &go_charge, NULL);
	else if (!strcmp(name, "account.committing"))
		meet(&committing, &go_commit, "account.committed");
	else
		meet(&committed, &go_on, NULL);
}

static void *charge(void *unused)
{
	stops_at = "account.charging";
	charge_rc = account_charge(own->member, CREDIT / 2, NULL);
	return NULL;
}

static void *grow(void *unused)
{
	stops_at = "account.committing";
	grow_rc = account_charge(own->member, 2 * CREDIT, NULL);
	return NULL;
}

static void begin(struct self *self, const struct order *o, struct answer *a)
{
	own = self;
	point_each = at_point;
	CHECK_EQ(pthread_create(&charger, NULL, charge, NULL), 0);
	wait_for(&charging);
	CHECK_EQ(pthread_create(&grower, NULL, grow, NULL), 0);
	wait_for(&committing);
}

static void go(struct self *self, const struct order *o, struct answer *a)
{
	__atomic_store_n(&go_commit, 1, __ATOMIC_SEQ_CST);
	wait_for(&committed);
	__atomic_store_n(&go_charge, 1, __ATOMIC_SEQ_CST);
	/* Time to do what it must not; else it waits for the grower, which has the lock. */
	usleep(50000);
	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(charger, NULL), 0);
	CHECK_EQ(pthread_join(grower, NULL), 0);
	CHECK_EQ(charge_rc, -EDQUOT);
	CHECK_EQ(grow_rc, -EDQUOT);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {begin, go};
	struct order o = {.op = OP_CALL, .units = 0};
	const struct order set = {.op = OP_ADMINISTER, .limit = BYTES(256 * MIB), .name = "a"};
	struct worker *w, *other;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(GIB), 0);
	other = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 512 * MIB), 0);
	CHECK_EQ(worker_charge(w, CREDIT), 0);
	worker_refund(w, CREDIT);
	CHECK_EQ(CUQUOTA_CREDIT(ledger_slot(w->slot).word), CREDIT);
	worker_do(w, &o);
	CHECK_EQ(worker_do(other, &set).rc, 0);
	o.units = 1;
	worker_do(w, &o);
	CHECK_EQ(CUQUOTA_CHARGED(ledger_slot(w->slot).word), 512 * MIB);
	return 0;
}
