/*
 * A tenant ends and its record is another's: what that one rises by is seen by who had noted what
 * the first one had. Beside a third one's guarantee what does not fit is refused, and what just
 * fits is granted.
 */
#include "proc_files.h"

#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define LIMIT (400 * MIB) /* of the one who looks: less than it could have beside the guarantee */
#define FIRST (300 * MIB)
#define SECOND (301 * MIB)
#define LEFT (DEVICE - REQUEST - SECOND - 10 * MIB)

int main(int argc, char **argv)
{
	/* No other record is free. */
	static const struct shape full = SHAPE_SMALL(64, 3);
	struct worker *first, *second, *looker;
	struct answer a;
	uint32_t record;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(DEVICE), 20);
	ledger_make(&full);
	worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	first = worker_joined("first", CUQUOTA_NONE, 0);
	record = first->tenant;
	looker = worker_joined("looker", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(first, FIRST), 0);
	worker_refund(first, FIRST);
	CHECK_EQ(worker_units(first, OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
	second = worker_joined("second", CUQUOTA_NONE, 0);
	CHECK_EQ(second->tenant, record);
	CHECK_EQ(worker_charge(second, SECOND), 0);
	a = worker_units(looker, OP_CHARGE, LEFT + 1);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	CHECK_EQ(worker_charge(looker, LEFT), 0);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
	ledger_is_true("at the end");
	return 0;
}
