/*
 * What others gave back is not seen by who had noted what they had: beside a device that seems
 * nearly full the credit that is worth keeping is nevertheless that of one who sums all slots.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define RISE (300 * MIB)

static void mark(struct self *self, const struct order *o, struct answer *a)
{
	a->value = self->member->mark;
}

static void forget(struct self *self, const struct order *o, struct answer *a)
{
	memset(&self->member->bound, 0, sizeof(self->member->bound));
}

enum call { MARK,
	    FORGET };

/* Of one who has noted what others had, or has forgotten it. */
static uint64_t mark_of(bool forgets)
{
	struct worker *other, *looker;
	uint64_t found;

	in_context("%s", forgets ? "of a sum" : "of a bound");
	world_start(BYTES(DEVICE), 20);
	worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	other = worker_joined("other", CUQUOTA_NONE, 0);
	looker = worker_joined("looker", CUQUOTA_NONE, 0);
	CHECK_EQ(worker_charge(other, RISE), 0);
	CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
	CHECK_EQ(worker_units(other, OP_LEAVE, 0).rc, 0);
	if (forgets)
		worker_units(looker, OP_CALL, FORGET);
	CHECK_EQ(worker_charge(looker, 100 * MIB), 0);
	found = worker_units(looker, OP_CALL, MARK).value;
	ledger_is_true("at the end");
	world_end();
	return found;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {[MARK] = mark, [FORGET] = forget};
	uint64_t sum;

	workers_enter(argc, argv, calls);
	sum = mark_of(true);
	CHECK_GE(sum, 1u);
	CHECK_EQ(mark_of(false), sum);
	return 0;
}
