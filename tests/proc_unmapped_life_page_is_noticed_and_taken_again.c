/*
 * An application unmaps all that it does not know, our life page among it. The member notices that
 * its life byte is not its own, and takes it again on the same slot, with all that it has charged.
 */
#include "proc_helper.h"

static void unmap(struct self *self, const struct order *o, struct answer *a)
{
	CHECK_SYS(munmap(self->member->life.page, 4096));
}

static void close_hold(struct self *self, const struct order *o, struct answer *a)
{
	close(self->member->life.hold);
}

/* The address of the page that was ours is the application's now; leaving must not take it away. */
static void reuse_and_leave(struct self *self, const struct order *o, struct answer *a)
{
	char *const page = mmap(self->member->life.page, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	CHECK(page == self->member->life.page);
	page[0] = 1;
	member_leave(self->member);
	a->value = (uint64_t)page[0];
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {unmap, close_hold, reuse_and_leave};
	struct order o = {.op = OP_CALL, .units = 0};
	struct worker *w, *other;
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	other = worker_joined("a", BYTES(GIB), 0);
	w = worker_joined("a", BYTES(GIB), 0);
	CHECK_EQ(worker_charge(w, 900 * MIB), 0);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	worker_do(w, &o);
	CHECK_EQ(ledger_life(w->slot), LIFE_GHOST);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 0ull);
	CHECK_EQ(worker_units(w, OP_REVIVE, 0).rc, 0);
	CHECK_EQ(worker_units(w, OP_CURRENT, 0).value, 1ull);
	worker_units(other, OP_SWEEP, 0);
	ledger_is_true("after the revival");

	/* With the hold closed too the slot is dead to all others: once forgotten it is no longer
	 * to be revived. */
	worker_do(w, &o);
	o.units = 1;
	worker_do(w, &o);
	CHECK_EQ(ledger_life(w->slot), LIFE_DEAD);
	CHECK_EQ(worker_charge(other, GIB), 0);
	a = worker_units(w, OP_CURRENT, 0);
	CHECK_EQ(a.value, 0ull);
	CHECK_EQ(worker_units(w, OP_REVIVE, 0).rc, -ESTALE);

	for (int still_own = 0; still_own < 2; still_own++) {
		w = worker_joined("b", BYTES(GIB), 0);
		worker_units(w, OP_CALL, 0);
		if (!still_own) {
			worker_units(w, OP_CALL, 1);
			worker_units(other, OP_SWEEP, 0);
		}
		CHECK_EQ(worker_units(w, OP_CALL, 2).value, 1ull);
		w->joined = false;
	}
	return 0;
}
