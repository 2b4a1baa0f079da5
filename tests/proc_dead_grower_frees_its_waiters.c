/*
 * A process is killed exactly where it has announced a rise and not yet committed it, the nearest
 * thing to a lock that the ledger has, and one where it holds the byte under which tenants are
 * made. Four others that wait for it proceed within 1 s, and nothing of the victim is left.
 */
/* report: DL-01 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)

static void grower(void)
{
	struct worker *victim, *w[4];
	const struct order grow = order_units(OP_CHARGE, 200 * MIB);
	struct order o;
	struct answer a;

	world_start(BYTES(4 * GIB), 30);
	/* First in, so that it has the lowest slot, before which all others stand back. */
	victim = worker_joined("a", BYTES(LIMIT), 0);
	for (int i = 0; i < 4; i++)
		w[i] = worker_joined("a", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(victim, 100 * MIB), 0);
	worker_arm(victim, "account.announced", 1, SIGSTOP);
	o = order_units(OP_CHARGE, 800 * MIB);
	worker_tell(victim, &o);
	CHECK_EQ(worker_hear(victim, &a), HEARD_STOPPED);
	CHECK_EQ(ledger_slot(victim->slot).pending, 800 * MIB);
	for (int i = 0; i < 4; i++)
		worker_tell(w[i], &grow);
	CHECK_SYS(kill(victim->pid, SIGKILL));
	CHECK_EQ(worker_hear(victim, &a), HEARD_DEAD);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_LE(a.ns, 1000 * MS);
	}
	/* Those who were judged before the kill may have been refused; now
	 * there is room for all. */
	for (int i = 0; i < 4; i++)
		if (!world.shared->holds[w[i]->index]) {
			a = worker_units(w[i], OP_CHARGE, 200 * MIB);
			CHECK_EQ(a.rc, 0);
			CHECK_LE(a.ns, 1000 * MS);
		}
	worker_units(w[0], OP_SWEEP, 0);
	ledger_is_true("after the kill");
	CHECK_EQ(ledger_charged(UINT32_MAX), 800ull * MIB);
	world_end();
}

static void settler(void)
{
	const struct order join = order_join("b", BYTES(LIMIT), 0);
	struct worker *victim, *w[4];
	struct answer a;

	world_start(BYTES(4 * GIB), 30);
	CHECK_EQ(worker_join(worker_start(), "a", BYTES(LIMIT), 0), 0);
	victim = worker_start();
	for (int i = 0; i < 4; i++)
		w[i] = worker_start();
	worker_arm(victim, "life.settling", 1, SIGSTOP);
	worker_tell(victim, &join);
	CHECK_EQ(worker_hear(victim, &a), HEARD_STOPPED);
	for (int i = 0; i < 4; i++) {
		worker_arm(w[i], "life.settle_busy", 1, SIGSTOP);
		worker_tell(w[i], &join);
		CHECK_EQ(worker_hear(w[i], &a), HEARD_STOPPED);
	}
	CHECK_SYS(kill(victim->pid, SIGKILL));
	CHECK_EQ(worker_hear(victim, &a), HEARD_DEAD);
	for (int i = 0; i < 4; i++)
		CHECK_SYS(kill(w[i]->pid, SIGCONT));
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		CHECK_EQ(a.rc, 0);
		CHECK_LE(a.ns, 1000 * MS);
		w[i]->joined = true;
		w[i]->slot = a.slot;
		w[i]->gen = a.gen;
		w[i]->tenant = a.tenant;
		CHECK_EQ(worker_charge(w[i], 256 * MIB), 0);
	}
	CHECK_EQ(worker_charge(w[0], 1), -EDQUOT);
	worker_units(w[0], OP_SWEEP, 0);
	ledger_is_true("after the settler's death");
	CHECK_EQ(ledger_used_slots(), 5u);
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	grower();
	settler();
	return 0;
}
