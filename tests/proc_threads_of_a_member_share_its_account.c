/*
 * Four threads of one process and a second process race under one limit: one slot for each process,
 * the limit holds, and what the threads charged and refunded is what the slot says.
 */
#include "proc_helper.h"

#include <pthread.h>

#define LIMIT (256 * MIB)

static struct self *own;
static uint64_t rounds;
static int wrong;

static void *thread(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	for (uint64_t i = 0; i < rounds; i++) {
		const uint32_t units = 1 + next_random(&random) % (100 * MIB);
		const int rc = account_charge(own->member, units, NULL);

		if (rc == -EDQUOT)
			continue;
		if (rc) {
			__atomic_store_n(&wrong, rc, __ATOMIC_RELAXED);
			break;
		}
		really_took(units);
		sched_yield(); /* so that the others are granted theirs meanwhile, or refused */
		really_gives(units);
		account_refund(own->member, units);
	}
	return NULL;
}

static void threads(struct self *self, const struct order *o, struct answer *a)
{
	pthread_t t[4];

	own = self;
	rounds = o->a;
	barrier(2);
	for (uintptr_t i = 0; i < o->b; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread, (void *)(i + 10 * self->index)), 0);
	for (uintptr_t i = 0; i < o->b; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	a->rc = wrong;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {threads};
	struct worker *w[2];

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 50);
	for (int i = 0; i < 2; i++)
		w[i] = worker_joined("a", BYTES(LIMIT), 0);
	for (int i = 0; i < 2; i++) {
		const struct order o = {.op = OP_CALL,
					.a = test_long() ? 50000 : 5000,
					.b = i ? 1 : 4};

		worker_tell(w[i], &o);
	}
	for (int i = 0; i < 2; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_EQ(a.rc, 0);
	}
	CHECK_LE(world.shared->most, (uint64_t)LIMIT);
	CHECK_OP(world.shared->most, >, (uint64_t)LIMIT / 2);
	CHECK_EQ(ledger_used_slots(), 2u);
	ledger_is_true("after the race");
	return 0;
}
