/*
 * A joiner that is stopped anywhere before its slot is published is not a member to anybody: its
 * slot is free to look at, its tenant has no more members than before, no sweep touches it, and no
 * other joiner takes its slot.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	static const char *const points[] = {"life.locked", "life.life_taken", "life.hold_taken",
					     "member.taken", "member.zeroed", "member.gen_raised",
					     "member.tenant_stored", "member.mapped",
					     "member.high_raised"};
	const struct order join = order_join("b", BYTES(GIB), 0);
	struct worker *first, *slow, *other;
	struct cuquota_slot slot;
	struct answer a;

	workers_enter(argc, argv, NULL);
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		in_context("stopped at %s", points[i]);
		world_start(BYTES(4 * GIB), 20);
		first = worker_joined("b", BYTES(GIB), 0);
		/* The slot after it was another tenant's once. */
		other = worker_joined("a", BYTES(GIB), 0);
		CHECK_EQ(worker_charge(other, 10 * MIB), 0);
		CHECK_EQ(worker_units(other, OP_LEAVE, 0).rc, 0);
		slow = worker_start();
		worker_arm(slow, points[i], 1, SIGSTOP);
		worker_tell(slow, &join);
		CHECK_EQ(worker_hear(slow, &a), HEARD_STOPPED);
		slot = ledger_slot(other->slot);
		CHECK_EQ(slot.state, (uint32_t)CUQUOTA_FREE);
		CHECK_EQ(slot.word, 0ull);
		/* From the moment that it is in use it must be found. */
		if (i == sizeof(points) / sizeof(points[0]) - 1)
			CHECK(segment_map(ledger(), first->tenant)[0] >> other->slot & 1);
		CHECK(!tenant_has_members(ledger(), other->tenant));
		CHECK_EQ(worker_units(first, OP_SWEEP, 0).value, 0ull);
		CHECK_EQ(ledger_life(other->slot), LIFE_ALIVE);
		CHECK_EQ(worker_join(other, "a", BYTES(GIB), 0), 0);
		CHECK_EQ(worker_charge(other, GIB), 0);
		worker_go_on(slow);
		CHECK_EQ(worker_hear(slow, &a), HEARD);
		CHECK_EQ(a.rc, 0);
		CHECK_NE(a.slot, other->slot);
		CHECK_EQ(ledger_slot(a.slot).state, (uint32_t)CUQUOTA_USED);
		CHECK_EQ(ledger_slot(a.slot).tenant, first->tenant);
		CHECK_EQ(ledger_slot(a.slot).gen, a.gen);
		slow->joined = true;
		slow->slot = a.slot;
		slow->gen = a.gen;
		ledger_is_true("at the end");
		world_end();
	}
	return 0;
}
