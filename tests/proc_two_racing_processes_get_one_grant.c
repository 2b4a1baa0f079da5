/*
 * Two processes of one tenant of 1024 MiB ask for 600 MiB each, released by a barrier: exactly one has it in every
 * round, and together they never hold more than the limit.
 */
/* report: AC-02 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)
#define ASKED (600 * MIB)

/* a: rounds; note[0..1] tell who had it; the loser waits until the winner has let go. */
static void race(struct self *self, const struct order *o, struct answer *a)
{
	for (uint64_t round = 0; round < o->a; round++) {
		int rc;

		barrier(2);
		rc = own_charge(self, ASKED, &a->refusal);
		if (!rc)
			really_took(ASKED);
		else if (rc != -EDQUOT || a->refusal.cause != REFUSED_LIMIT)
			a->rc = rc;
		world.shared->note[self->index] = rc == 0;
		barrier(2);
		if (world.shared->note[0] + world.shared->note[1] != 1 && !a->value)
			a->value = round + 1;
		barrier(2);
		if (rc)
			continue;
		really_gives(ASKED);
		own_refund(self, ASKED);
		/* Kept as credit it would give the winner a head start that the other can but take back. */
	}
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {race};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w[2];

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 50);
	for (int i = 0; i < 2; i++)
		w[i] = worker_joined("a", BYTES(LIMIT), 0);
	o.a = test_long() ? 20000 : 2000;
	for (int i = 0; i < 2; i++)
		worker_tell(w[i], &o);
	for (int i = 0; i < 2; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_EQ(a.rc, 0);
		if (a.value)
			FAIL("round %llu: not exactly one of two had its memory", (unsigned long long)a.value);
	}
	CHECK_EQ(world.shared->most, (uint64_t)ASKED);
	ledger_is_true("after the race");
	return 0;
}
