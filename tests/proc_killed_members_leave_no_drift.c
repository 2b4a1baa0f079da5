/*
 * Cycles of five processes that charge and refund at random and are killed with SIGKILL at any
 * moment: after each cycle the next sweep brings the ledger back to what the survivor holds, within
 * 1 s, and nothing adds up over the cycles.
 */
/* report: SS-05 */
#include "proc_helper.h"

static void churn(struct self *self, const struct order *o, struct answer *a)
{
	uint64_t random = o->a;

	__atomic_add_fetch(&world.shared->go, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		const uint32_t units = 1 + next_random(&random) % (300 * MIB);

		if (account_charge(self->member, units, NULL))
			continue;
		if (next_random(&random) % 8)
			account_refund(self->member, units);
		else if (CUQUOTA_CHARGED(member_slot(self->member)->word) > 150 * MIB)
			account_refund(self->member,
				       CUQUOTA_CHARGED(member_slot(self->member)->word));
		__atomic_add_fetch(&world.shared->used, 1, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {churn};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w[5], *witness;
	uint64_t random = 5, worst = 0;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 55);
	witness = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(witness, 24 * MIB), 0);
	for (int cycle = 0; cycle < (test_long() ? 200 : 40); cycle++) {
		uint64_t begin, steps;

		world.count = 1; /* the dead of the last cycle make room for this one's */
		world.shared->go = 0;
		for (int i = 0; i < 5; i++) {
			w[i] = worker_joined("a", BYTES(GIB), 0);
			o.a = (uint64_t)cycle * 10 + i;
			worker_tell(w[i], &o);
		}
		while (__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST) < 5)
			sched_yield();
		steps = __atomic_load_n(&world.shared->used, __ATOMIC_RELAXED) +
			next_random(&random) % 500;
		while (__atomic_load_n(&world.shared->used, __ATOMIC_RELAXED) < steps)
			sched_yield();
		for (int i = 0; i < 5; i++) {
			worker_kill(w[i]);
			close(w[i]->socket);
		}
		begin = now_ns();
		/* All that is left can be had: whatever a dead one held, idle or announced. */
		if (worker_charge(witness, 1000 * MIB))
			FAIL("cycle %d: %llu units stay charged", cycle,
			     (unsigned long long)ledger_charged(UINT32_MAX));
		if (now_ns() - begin > worst)
			worst = now_ns() - begin;
		worker_refund(witness, 1000 * MIB);
		worker_units(witness, OP_SWEEP, 0);
		ledger_is_true("after a cycle");
		CHECK_EQ(ledger_used_slots(), 1u);
	}
	printf("all back after %.1f ms at most\n", (double)worst / 1e6);
	CHECK_LE(worst, 1000 * MS);
	return 0;
}
