/*
 * A joiner has seen that a slot is free, and before it has the slot's locks another joins there and
 * dies: the joiner forgets that one as everybody does, so that the time in which its tenant's
 * request is kept begins, and nothing of it is left.
 */
#include "proc_helper.h"

int main(int argc, char **argv)
{
	const struct order join = order_join("a", BYTES(GIB), 0);
	struct worker *slow, *other;
	struct answer a;
	uint32_t tenant;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	/* So that the slow one has nothing to settle. */
	worker_joined("a", BYTES(GIB), 0);
	slow = worker_start();
	worker_arm(slow, "member.looked", 1, SIGSTOP);
	worker_tell(slow, &join);
	CHECK_EQ(worker_hear(slow, &a), HEARD_STOPPED);
	other = worker_joined("b", BYTES(GIB), BYTES(GIB / 2));
	CHECK_EQ(other->slot, 1u);
	tenant = other->tenant;
	CHECK_EQ(worker_charge(other, 600 * MIB), 0);
	worker_kill(other);
	CHECK_EQ(segment_tenant(ledger(), tenant)->left_ns, 0ull);
	worker_go_on(slow);
	CHECK_EQ(worker_hear(slow, &a), HEARD);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.slot, 1u);
	CHECK_NE(segment_tenant(ledger(), tenant)->left_ns, 0ull);
	CHECK_EQ(ledger_slot(1).word, 0ull);
	CHECK_EQ(segment_map(ledger(), tenant)[0], 0ull);
	return 0;
}
