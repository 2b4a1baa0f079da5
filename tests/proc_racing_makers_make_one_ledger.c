/*
 * Eight processes open and join at the same moment where there is neither folder nor file: there is
 * one ledger, all are in it in slots of their own, and together they keep its limit.
 */
#include "proc_helper.h"

static void race(struct self *self, const struct order *o, struct answer *a)
{
	const struct tenant_wish wish = {"a", BYTES(GIB), 0, 0};

	barrier(8);
	a->rc = own_open(self, a->why);
	if (!a->rc)
		a->rc = member_join(self->member, &self->segment, &wish, -1, &a->outcome, a->why);
	barrier(8);
	if (!a->rc && own_charge(self, 200 * MIB, NULL) == 0)
		really_took(200 * MIB);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {race};
	const struct order o = {.op = OP_CALL, .units = 0};

	workers_enter(argc, argv, calls);
	for (int round = 0; round < (test_long() ? 200 : 20); round++) {
		struct worker *w[8];
		uint64_t slots = 0;

		world_start(BYTES(4 * GIB), 20);
		for (int i = 0; i < 8; i++)
			w[i] = worker_start();
		for (int i = 0; i < 8; i++)
			worker_tell(w[i], &o);
		for (int i = 0; i < 8; i++) {
			struct answer a;

			CHECK_EQ(worker_hear(w[i], &a), HEARD);
			if (a.rc)
				FAIL("round %d: %d, %s", round, a.rc, a.why);
			CHECK_OP(a.slot, <, 64u);
			slots |= 1ull << a.slot;
		}
		CHECK_EQ(__builtin_popcountll(slots), 8);
		CHECK_EQ(ledger_used_slots(), 8u);
		CHECK_EQ(ledger_charged(UINT32_MAX), 1000ull * MIB);
		CHECK_EQ(world.shared->used, 1000ull * MIB);
		world_end();
	}
	return 0;
}
