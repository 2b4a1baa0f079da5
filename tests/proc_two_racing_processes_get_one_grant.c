/*
 * Two processes of one tenant of 1024 MiB ask for 600 MiB each, released by a barrier: exactly one
 * has it in every round, and together they never hold more than the limit.
 */
/* report: AC-02 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)
#define ASKED (600 * MIB)

static uint64_t turn, seed;
static unsigned me;
static const struct member *own;

#if defined(__x86_64__)
#define ticks() __builtin_ia32_rdtsc()
#else
#define ticks() now_ns()
#endif

/*
 * In every eighth round both linger between sum and commit, so that they overlap there. In the
 * others they agree on a moment at which to announce, so that each one's store and its load of the
 * other's are within a few ns of the other's: only then can a store that is not sequentially
 * consistent still wait in its core while the load is done.
 */
static void at_point(const char *name)
{
	uint64_t *const met = &world.shared->note[16], *const when = &world.shared->note[48];
	unsigned patience = 20000;

	if (turn % 8 == 0 && !strcmp(name, "account.summed"))
		for (volatile uint32_t i = next_random(&seed) % 4000; i; i--)
			;
	if (turn % 8 == 0 || strcmp(name, "account.announcing") || met[16 * me] == turn)
		return;
	__atomic_store_n(&met[16 * me], turn, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&met[16 * !me], __ATOMIC_ACQUIRE) < turn && --patience)
		;
	if (me == 0)
		__atomic_store_n(when, (ticks() + 3000) << 16 | (turn & 0xffff), __ATOMIC_SEQ_CST);
	while ((__atomic_load_n(when, __ATOMIC_ACQUIRE) & 0xffff) != (turn & 0xffff) && patience &&
	       --patience)
		;
	/* Reading the other's slot until then: its line is shared, and a store to it has to wait
	 * for that to end. */
	while (patience && ticks() << 16 < __atomic_load_n(when, __ATOMIC_ACQUIRE))
		__atomic_load_n(&segment_slot(own->segment, !own->slot)->pending, __ATOMIC_RELAXED);
}

/* On two processors, where there are two: else the scheduler likes to put partners on one. */
static void spread_out(void)
{
	cpu_set_t all, one;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && seen < 2; i++)
		if (CPU_ISSET(i, &all) && seen++ == (int)me)
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* At least a rounds, and on for b ms; note[0..1] tell who had it; the loser waits until
 * the winner has let go. */
static void race(struct self *self, const struct order *o, struct answer *a)
{
	const int64_t until = now_ms() + (int64_t)o->b;

	me = self->index;
	own = self->member;
	spread_out();
	point_each = at_point;
	for (turn = 1; !world.shared->stop; turn++) {
		int rc;

		barrier(2);
		rc = own_charge(self, ASKED, &a->refusal);
		if (!rc)
			really_took(ASKED);
		else if (rc != -EDQUOT || a->refusal.cause != REFUSED_LIMIT)
			a->rc = rc;
		world.shared->note[me] = rc == 0;
		barrier(2);
		if (world.shared->note[0] + world.shared->note[1] != 1 && !a->value)
			a->value = turn;
		if (me == 0 && (a->value || (turn >= o->a && now_ms() >= until)))
			world.shared->stop = 1;
		barrier(2);
		if (rc)
			continue;
		really_gives(ASKED);
		own_refund(self, ASKED);
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
	o.a = 2000;
	o.b = test_long() ? 30000 : 6000;
	for (int i = 0; i < 2; i++)
		worker_tell(w[i], &o);
	for (int i = 0; i < 2; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_EQ(a.rc, 0);
		if (a.value)
			FAIL("round %llu: not exactly one of two had its memory",
			     (unsigned long long)a.value);
	}
	CHECK_EQ(world.shared->most, (uint64_t)ASKED);
	ledger_is_true("after the race");
	return 0;
}
