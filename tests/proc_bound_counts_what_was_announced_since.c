/*
 * One who has summed all slots grants itself more by what the others can have risen since. Whatever
 * another tenant announced, was granted or took meanwhile is in it, however it came: beside a third
 * one's guarantee what does not fit is refused, and what just fits is granted.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define LIMIT (400 * MIB) /* of the one who looks: less than it could have beside the guarantee */
#define RISE (300 * MIB)

enum rise {
	ANNOUNCED,
	COMMITTED,
	FORCED,
	JOINED,
	WHILE_LOOKING,
	UNTOLD,
	FORCED_BESIDE,
	PROMISED,
	RISES
};

static const char *const names[] = {"announced only",
				    "committed",
				    "forced",
				    "of one who joined since",
				    "committed while all slots were read",
				    "announced before anybody had a request",
				    "forced beside one who read all slots",
				    "promised"};

static void starts(struct worker *w, enum op op, uint32_t units, const char *at, uint32_t nth)
{
	const struct order order = order_units(op, units);
	struct answer a;

	worker_arm(w, at, nth, SIGSTOP);
	worker_tell(w, &order);
	CHECK_EQ(worker_hear(w, &a), HEARD_STOPPED);
}

static void goes_on(struct worker *w)
{
	struct answer a;

	worker_go_on(w);
	CHECK_EQ(worker_hear(w, &a), HEARD);
	CHECK_EQ(a.rc, 0);
}

static void round_of(enum rise rise)
{
	const uint32_t more = rise == PROMISED ? 200 * MIB : RISE;
	struct worker *looker, *other = NULL;
	struct answer a;

	in_context("a rise %s", names[rise]);
	world_start(BYTES(DEVICE), 20);
	if (rise != UNTOLD)
		worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	if (rise != JOINED)
		other = worker_joined("other", CUQUOTA_NONE, 0);
	looker = worker_joined("looker", BYTES(LIMIT), 0);
	if (rise == UNTOLD) {
		starts(other, OP_CHARGE, RISE, "account.summed", 1);
		worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	}
	if (rise == FORCED_BESIDE)
		starts(other, OP_FORCE, RISE, "account.forcing", 1);
	/* It has read the other's slot by the third. */
	if (rise == WHILE_LOOKING)
		starts(looker, OP_CHARGE, 10 * MIB, "sum.between", 3);
	else
		CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
	if (rise == JOINED)
		other = worker_joined("other", CUQUOTA_NONE, 0);
	if (rise == ANNOUNCED)
		starts(other, OP_CHARGE, RISE, "account.committing", 1);
	else if (rise == FORCED)
		worker_units(other, OP_FORCE, RISE);
	else if (rise == PROMISED)
		worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST + more));
	else if (rise == FORCED_BESIDE)
		goes_on(other);
	else if (rise != UNTOLD)
		CHECK_EQ(worker_charge(other, RISE), 0);
	if (rise == WHILE_LOOKING)
		goes_on(looker);
	a = worker_units(looker, OP_CHARGE, DEVICE - REQUEST - more - 10 * MIB + 1);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	if (rise == ANNOUNCED || rise == UNTOLD)
		goes_on(other);
	CHECK_EQ(worker_charge(looker, DEVICE - REQUEST - more - 10 * MIB), 0);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
	ledger_is_true("at the end");
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	for (int rise = 0; rise < RISES; rise++)
		round_of((enum rise)rise);
	return 0;
}
