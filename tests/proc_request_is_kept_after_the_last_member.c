/*
 * A request stays promised for keep_ns after its tenant's last member ended, by leaving or by a
 * kill, also when the last two leave at the same time; then it is lent. Times are set in the
 * ledger, not waited for.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (600 * MIB)

static struct worker *borrower;
static struct worker *join(uint64_t keep_ns)
{
	struct order o = order_join("a", CUQUOTA_NONE, BYTES(REQUEST));
	struct worker *const w = worker_start();

	o.keep_ns = keep_ns;
	CHECK_EQ(worker_do(w, &o).rc, 0);
	return w;
}

static void borrows(const char *when, bool all)
{
	const uint32_t want = all ? DEVICE : DEVICE - REQUEST;
	struct answer a;

	CHECK_EQ(worker_charge(borrower, want), 0);
	a = worker_units(borrower, OP_CHARGE, 1);
	if (!all && (a.rc != -EDQUOT || a.refusal.cause != REFUSED_GUARANTEE))
		FAIL("%s: what is promised was lent: %d, cause %d", when, a.rc, a.refusal.cause);
	if (!a.rc)
		worker_refund(borrower, 1);
	worker_refund(borrower, want);
}

static struct cuquota_tenant *record(uint32_t tenant)
{
	struct segment *const s = malloc(sizeof(*s)); /* stays mapped: the caller writes into it */
	char why[SEGMENT_WHY];

	CHECK(s);
	CHECK_EQ(segment_open(s, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER, why),
		 0);
	return segment_tenant(s, tenant);
}

int main(int argc, char **argv)
{
	const struct order leave = {.op = OP_LEAVE};
	struct cuquota_tenant *r;
	struct worker *one, *two;
	struct answer a;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(DEVICE), 20);
	borrower = worker_joined("b", CUQUOTA_NONE, 0);
	one = join(600000 * MS);
	r = record(one->tenant);
	borrows("with a member", false);
	worker_kill(one);
	borrows("after a kill", false);
	worker_units(borrower, OP_SWEEP, 0);
	borrows("after the sweep", false);
	CHECK_NE(r->left_ns, 0ull);

	one = join(600000 * MS);
	CHECK_EQ(worker_units(one, OP_LEAVE, 0).rc, 0);
	borrows("after leaving", false);
	/* As if it had left eleven minutes ago, or a boot ago. */
	r->left_ns -= 660000 * MS;
	borrows("when it ran out", true);
	r->left_ns = now_ns() + 1000000 * MS;
	borrows("of another boot", true);

	one = join(600000 * MS);
	borrows("promised again", false);
	two = join(600000 * MS);
	worker_arm(one, "member.leaving", 1, SIGSTOP);
	worker_tell(one, &leave);
	CHECK_EQ(worker_hear(one, &a), HEARD_STOPPED);
	CHECK_EQ(worker_units(two, OP_LEAVE, 0).rc, 0);
	worker_go_on(one);
	CHECK_EQ(worker_hear(one, &a), HEARD);
	borrows("after two left at once", false);

	/* Without a keep it is lent at once. */
	one = join(0);
	borrows("with a member again", false);
	CHECK_EQ(worker_units(one, OP_LEAVE, 0).rc, 0);
	borrows("without a keep", true);
	return 0;
}
