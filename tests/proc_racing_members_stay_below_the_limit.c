/*
 * Members of one tenant charge and refund sizes of every kind as fast as they can: what they
 * really hold together never exceeds the limit at any instant, none is shut out, and afterwards
 * the ledger holds nothing.
 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)
#define HELD 64

static void churn(struct self *self, const struct order *o, struct answer *a)
{
	uint64_t random = o->b, grants = 0;
	uint32_t held[HELD];
	unsigned n = 0;

	barrier(o->nth);
	for (uint64_t i = 0; i < o->a; i++) {
		const uint32_t r = next_random(&random);
		/* Mostly small, now and then half the limit. */
		const uint32_t units = r % 16 == 0 ? 1 + r / 16 % (LIMIT / 2)
						   : 1 + r / 16 % (64 * MIB);

		if (n < HELD && (n == 0 || r % 3)) {
			const int rc = own_charge(self, units, &a->refusal);

			if (!rc) {
				really_took(units);
				held[n++] = units;
				grants++;
				continue;
			}
			if (rc != -EDQUOT)
				a->rc = rc;
		}
		if (n) {
			n--;
			really_gives(held[n]);
			own_refund(self, held[n]);
		}
	}
	while (n) {
		n--;
		really_gives(held[n]);
		own_refund(self, held[n]);
	}
	a->value = grants;
	barrier(o->nth);
}

static void race(unsigned processes)
{
	struct order o = {.op = OP_CALL, .units = 0, .nth = processes};
	struct worker *w[8];

	world_start(BYTES(4 * GIB), 50);
	for (unsigned i = 0; i < processes; i++)
		w[i] = worker_joined("a", BYTES(LIMIT), 0);
	o.a = test_long() ? 100000 : 20000; /* a minute on two slow processors */
	for (unsigned i = 0; i < processes; i++) {
		o.b = 77 + i;
		worker_tell(w[i], &o);
	}
	for (unsigned i = 0; i < processes; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_EQ(a.rc, 0);
		CHECK_OP(a.value, >, o.a / 100);
	}
	printf("%u processes: at most %llu of %u units held\n", processes,
	       (unsigned long long)world.shared->most, LIMIT);
	CHECK_LE(world.shared->most, (uint64_t)LIMIT);
	/* A race that never came near the limit shows nothing. */
	CHECK_OP(world.shared->most, >, (uint64_t)LIMIT * 8 / 10);
	CHECK_EQ(world.shared->used, 0ull);
	ledger_is_true("after the race");
	world_end();
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {churn};

	workers_enter(argc, argv, calls);
	race(2);
	race(4);
	race(8);
	return 0;
}
