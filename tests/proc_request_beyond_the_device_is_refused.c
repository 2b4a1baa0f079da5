/*
 * A request is refused if the sum of all would exceed the device: by a joiner, by a newcomer that
 * raises its tenant's, by `set`, and by a tenant that comes back after its own promise ran out and
 * was given away. A refusal changes nothing.
 */
#include "proc_helper.h"

static struct answer join(struct worker *w, const char *tenant, uint32_t request, uint64_t keep_ns)
{
	struct order o = order_join(tenant, CUQUOTA_NONE, BYTES(request));

	o.keep_ns = keep_ns;
	return worker_do(w, &o);
}

/* Killed after its request was stored and before it was a member: nothing is promised. */
static void after_a_death(void)
{
	struct worker *dies;
	struct order o = order_join("a", CUQUOTA_NONE, BYTES(600 * MIB));
	struct answer answer;

	world_start(BYTES(GIB), 20);
	dies = worker_start();
	worker_arm(dies, "member.settled", 1, SIGKILL);
	worker_tell(dies, &o);
	CHECK_EQ(worker_hear(dies, &answer), HEARD_DEAD);
	CHECK_EQ(join(worker_start(), "d", 500 * MIB, 1).rc, 0);
	CHECK_EQ(join(worker_start(), "a", 600 * MIB, 1).rc, -ENOSPC);
	world_end();
}

int main(int argc, char **argv)
{
	struct order set = {.op = OP_ADMINISTER, .limit = CUQUOTA_NONE, .name = "b"};
	struct worker *a, *b, *c;
	struct answer answer;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(GIB), 20);
	a = worker_start();
	b = worker_start();
	c = worker_start();
	CHECK_EQ(join(a, "a", 600 * MIB, 1).rc, 0);
	answer = join(b, "b", 425 * MIB, 1);
	CHECK_EQ(answer.rc, -ENOSPC);
	CHECK_EQ(answer.outcome.promised, BYTES(600 * MIB));
	CHECK(answer.why[0]);
	CHECK_EQ(ledger_used_slots(), 1u);
	CHECK_EQ(join(b, "b", 424 * MIB, 1).rc, 0);
	CHECK_EQ(join(c, "b", 425 * MIB, 1).rc, -ENOSPC);
	set.request = BYTES(425 * MIB);
	CHECK_EQ(worker_do(c, &set).rc, -ENOSPC);
	set.request = UINT64_MAX;
	CHECK_EQ(worker_do(c, &set).rc, -ENOSPC);
	CHECK_EQ(join(c, "c", 1, 1).rc, -ENOSPC);
	CHECK_EQ(join(c, "c", 0, 1).rc, 0);
	CHECK_EQ(worker_charge(c, 1), -EDQUOT);
	CHECK_EQ(worker_charge(a, 600 * MIB), 0);
	CHECK_EQ(worker_charge(b, 424 * MIB), 0);

	/* a ends; its promise ran out a nanosecond later; another is promised
	 * its share; a comes back. */
	worker_kill(a);
	a = worker_start();
	CHECK_EQ(join(a, "d", 500 * MIB, 1).rc, 0);
	answer = join(worker_start(), "a", 600 * MIB, 1);
	if (answer.rc != -ENOSPC)
		FAIL("promised anew what another was promised meanwhile: %d", answer.rc);
	CHECK_EQ(worker_charge(a, 500 * MIB), 0);
	CHECK_EQ(worker_charge(c, 101 * MIB), -EDQUOT);
	world_end();
	after_a_death();
	return 0;
}
