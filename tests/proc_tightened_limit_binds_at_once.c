/*
 * When the call that tightens a limit has returned, no allocation beyond it succeeds: not from
 * credit granted before, not by a grower that was stopped between its sum and its commit, not by
 * growers that race with the call.
 */
#include "proc_helper.h"

#define LOOSE (1024 * MIB)
#define TIGHT (512 * MIB)

static struct order administer(uint64_t limit)
{
	struct order o = {.op = OP_ADMINISTER, .limit = limit};

	snprintf(o.name, sizeof(o.name), "a");
	return o;
}

/* Credit of before: the member had 512 MiB, gave back 16 MiB and keeps that as credit. */
static void credit_is_void(bool by_newcomer)
{
	const uint64_t limit = BYTES(TIGHT - 16 * MIB);
	const struct order set = administer(limit), join = order_join("a", limit, 0);
	struct worker *w, *other;

	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(LOOSE), 0);
	CHECK_EQ(worker_charge(w, TIGHT), 0);
	worker_refund(w, 16 * MIB);
	CHECK_OP(CUQUOTA_CREDIT(ledger_slot(w->slot).word), >=, 8 * MIB);
	other = worker_start();
	CHECK_EQ(worker_do(other, by_newcomer ? &join : &set).rc, 0);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	worker_refund(w, 1);
	CHECK_EQ(worker_charge(w, 1), 0);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	world_end();
}

/* A grower stopped at `name` goes on after the call: what it asked for does not fit any more. */
static void stopped_grower(const char *name, bool by_newcomer)
{
	const struct order set = administer(BYTES(TIGHT)), join = order_join("a", BYTES(TIGHT), 0);
	const struct order grow = order_units(OP_CHARGE, 300 * MIB);
	struct worker *w, *other;
	struct answer a;

	world_start(BYTES(4 * GIB), 20);
	w = worker_joined("a", BYTES(LOOSE), 0);
	CHECK_EQ(worker_charge(w, 300 * MIB), 0);
	worker_arm(w, name, 1, SIGSTOP);
	worker_tell(w, &grow);
	CHECK_EQ(worker_hear(w, &a), HEARD_STOPPED);
	other = worker_start();
	a = worker_do(other, by_newcomer ? &join : &set);
	CHECK_EQ(a.rc, 0);
	CHECK_LE(a.ns, 2000 * MS);
	worker_go_on(w);
	CHECK_EQ(worker_hear(w, &a), HEARD);
	if (a.rc != -EDQUOT)
		FAIL("stopped at %s, the grower had %u units more under a limit of %u", name,
		     300 * MIB, TIGHT);
	CHECK_EQ(worker_charge(w, 212 * MIB), 0);
	CHECK_EQ(worker_charge(w, 1), -EDQUOT);
	world_end();
}

/* Growers race with a limit that goes down and up; `go` counts changes: odd while the
 * tight one is in force. */
static void churn(struct self *self, const struct order *o, struct answer *a)
{
	uint64_t random = 3 + self->index;

	barrier(5);
	while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST)) {
		const uint32_t before = __atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST);
		const uint32_t units = 1 + next_random(&random) % (128 * MIB);
		uint64_t others;

		if (own_charge(self, units, NULL))
			continue;
		others = __atomic_add_fetch(&world.shared->used, units, __ATOMIC_SEQ_CST);
		__atomic_store_n(&world.shared->note[self->index], ++a->value, __ATOMIC_SEQ_CST);
		/*
		 * Begun and ended under the tight limit, and granted: then all together were within
		 * it at that time. Others can only have given back since, and what was held before
		 * the call was taken before it.
		 */
		if (before % 2 && before == __atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST) &&
		    others > TIGHT)
			__atomic_store_n(&world.shared->broken, others, __ATOMIC_SEQ_CST);
		__atomic_fetch_sub(&world.shared->used, units, __ATOMIC_SEQ_CST);
		own_refund(self, units);
	}
}

/* Has each worker been granted `grants` at least? */
static bool all_had(uint64_t grants)
{
	for (int i = 0; i < 4; i++)
		if (__atomic_load_n(&world.shared->note[i], __ATOMIC_SEQ_CST) < grants)
			return false;
	return true;
}

static void racing_growers(void)
{
	const struct order set[] = {administer(BYTES(LOOSE)), administer(BYTES(TIGHT))};
	const struct order call = {.op = OP_CALL, .units = 0};
	struct worker *w[4], *setter;

	world_start(BYTES(4 * GIB), 30);
	for (int i = 0; i < 4; i++)
		w[i] = worker_joined("a", BYTES(LOOSE), 0);
	setter = worker_start();
	for (int i = 0; i < 4; i++)
		worker_tell(w[i], &call);
	barrier(5);
	for (uint32_t i = 1; i <= (test_long() ? 4000u : 400u) || !all_had(100); i++) {
		if (i % 2 == 0) /* even from before the loose limit is set until the tight one is */
			__atomic_store_n(&world.shared->go, i, __ATOMIC_SEQ_CST);
		CHECK_EQ(worker_do(setter, &set[i % 2]).rc, 0);
		if (i % 2)
			__atomic_store_n(&world.shared->go, i, __ATOMIC_SEQ_CST);
	}
	world.shared->stop = 1;
	for (int i = 0; i < 4; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_OP(a.value, >, 0ull);
	}
	if (world.shared->broken)
		FAIL("%llu units held beyond a limit of %u that was in force",
		     (unsigned long long)world.shared->broken, TIGHT);
	ledger_is_true("after the race");
	world_end();
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {churn};
	static const char *const names[] = {"account.announcing", "account.announced",
					    "account.summed", "account.committing",
					    "account.committed", "account.retracting",
					    "account.retracted", "account.charging"};

	workers_enter(argc, argv, calls);
	for (int by_newcomer = 0; by_newcomer < 2; by_newcomer++) {
		credit_is_void(by_newcomer);
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			stopped_grower(names[i], by_newcomer);
	}
	racing_growers();
	return 0;
}
