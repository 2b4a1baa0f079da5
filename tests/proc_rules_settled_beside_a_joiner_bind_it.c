/*
 * A joiner found its tenant with members and goes in without the settle byte. Its tenant's last
 * member leaves, and another settles the tenant anew, looser or tighter, stopped or killed at any
 * step of that while the joiner goes on. Whoever comes first: the joiner never runs under a looser
 * limit than it brought, and once the other has returned nobody is granted more than its limit
 * allows, not out of credit either.
 */
/* report: SS-04 */
#include "proc_helper.h"

#define OWN_LIMIT (8 * GIB)
#define WAIT_MS 30 /* for an answer that may only come when another goes on */

static struct worker *first, *joiner, *settler;
static bool joined;

/* "t" has had one member that left; the joiner is past its look at it. */
static void begin(void)
{
	const struct order join = order_join("t", BYTES(OWN_LIMIT), 0);
	struct answer a;

	joined = false;
	world_start(BYTES(64 * GIB), 60);
	first = worker_joined("t", BYTES(OWN_LIMIT), 0);
	joiner = worker_start();
	settler = worker_start();
	worker_arm(joiner, "member.settled", 1, SIGSTOP);
	worker_tell(joiner, &join);
	CHECK_EQ(worker_hear(joiner, &a), HEARD_STOPPED);
	CHECK_EQ(worker_units(first, OP_LEAVE, 0).rc, 0);
}

static void joiner_is_in(void)
{
	struct answer a;

	CHECK_EQ(worker_hear(joiner, &a), HEARD);
	if (a.rc)
		FAIL("the joiner is refused: %d, %s", a.rc, a.why);
	joined = true;
	joiner->joined = true;
	joiner->slot = a.slot;
	joiner->gen = a.gen;
	CHECK_LE(a.outcome.limit, BYTES(OWN_LIMIT));
}

/* The joiner goes on. It may be in at once, and then has credit; or ask for the settle byte, and
 * wait until that is given back. */
static void joiner_goes_on(void)
{
	struct pollfd p = {.fd = joiner->socket, .events = POLLIN};

	worker_go_on(joiner);
	if (poll(&p, 1, WAIT_MS) != 1)
		return;
	joiner_is_in();
	if (worker_charge(joiner, 2 * GIB))
		return;
	worker_refund(joiner, 100 * MIB);
}

static void all_are_bound(const char *when, uint32_t limit)
{
	const uint32_t held = world.shared->holds[joiner->index];
	uint64_t in_force;

	if (!joined)
		joiner_is_in();
	in_force = segment_tenant(ledger(), 0)->limit;
	if (in_force > BYTES(limit))
		FAIL("%s: the limit is %llu MiB, brought were %u", when,
		     (unsigned long long)in_force >> 20, limit / MIB);
	if (held < limit && !worker_charge(joiner, limit - held + 1))
		FAIL("%s: the joiner has %u MiB under a limit of %u", when,
		     world.shared->holds[joiner->index] / MIB, limit / MIB);
	if (held >= limit && !worker_charge(joiner, 30 * MIB))
		FAIL("%s: the joiner had 30 MiB more above %u, the limit is %u", when, held / MIB,
		     limit / MIB);
}

static void settled_beside(const char *at, uint32_t limit, bool killed)
{
	const struct order join = order_join("t", BYTES(limit), 0);
	struct answer a;
	char when[128];

	snprintf(when, sizeof(when), "%s at %s, bringing %u GiB", killed ? "killed" : "stopped",
		 at, limit / GIB);
	begin();
	worker_arm(settler, at, 1, SIGSTOP);
	worker_tell(settler, &join);
	CHECK_EQ(worker_hear(settler, &a), HEARD_STOPPED);
	joiner_goes_on();
	if (killed) {
		worker_kill(settler);
		all_are_bound(when, OWN_LIMIT);
	} else {
		worker_go_on(settler);
		CHECK_EQ(worker_hear(settler, &a), HEARD);
		CHECK_EQ(a.rc, 0);
		all_are_bound(when, limit < OWN_LIMIT ? limit : OWN_LIMIT);
	}
	world_end();
}

/* As `cuquota set` does: it looks for nobody before it stores. */
static void administered_beside(const char *at)
{
	struct order set = order_join("t", BYTES(GIB), 0);
	struct answer a;

	set.op = OP_ADMINISTER;
	begin();
	worker_arm(settler, at, 1, SIGSTOP);
	worker_tell(settler, &set);
	CHECK_EQ(worker_hear(settler, &a), HEARD_STOPPED);
	joiner_goes_on();
	worker_go_on(settler);
	CHECK_EQ(worker_hear(settler, &a), HEARD);
	CHECK_EQ(a.rc, 0);
	all_are_bound(at, GIB);
	world_end();
}

/* One that was killed as it began a tenant anew, just as somebody had joined, costs the next only
 * the settle byte. */
static void death_leaves_nothing(void)
{
	const struct order join = order_join("t", BYTES(16 * GIB), 0);
	struct segment segment;
	char why[SEGMENT_WHY];
	struct answer a;

	begin();
	worker_arm(settler, "tenant.empty", 1, SIGSTOP);
	worker_tell(settler, &join);
	CHECK_EQ(worker_hear(settler, &a), HEARD_STOPPED);
	joiner_goes_on();
	CHECK(joined);
	worker_kill(settler);
	/* One step later it would have left this. */
	CHECK_EQ(segment_open(&segment, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER,
			      why),
		 0);
	__atomic_or_fetch(&segment_tenant(&segment, 0)->flags, CUQUOTA_SETTLING, __ATOMIC_SEQ_CST);
	segment_close(&segment);
	CHECK_EQ(worker_join(first, "t", BYTES(OWN_LIMIT), 0), 0);
	CHECK_EQ(segment_tenant(ledger(), 0)->flags, 0u);
	world_end();

	begin();
	worker_arm(settler, "tenant.closed", 1, SIGKILL);
	worker_tell(settler, &join);
	CHECK_EQ(worker_hear(settler, &a), HEARD_DEAD);
	CHECK_EQ(segment_tenant(ledger(), 0)->flags, CUQUOTA_SETTLING);
	joiner_goes_on();
	all_are_bound("killed at tenant.closed", OWN_LIMIT);
	CHECK_EQ(segment_tenant(ledger(), 0)->flags, 0u);
	world_end();
}

int main(int argc, char **argv)
{
	static const char *const points[] = {"tenant.empty", "tenant.closed", "tenant.keep_stored",
					     "tenant.limit_stored", "tenant.request_stored",
					     "tenant.opened"};
	static const uint32_t limits[] = {16 * GIB, GIB};

	workers_enter(argc, argv, NULL);
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		for (unsigned k = 0; k < 2 * 2; k++)
			settled_beside(points[i], limits[k / 2], k % 2);
	administered_beside("tenant.administered");
	administered_beside("tenant.keep_stored");
	administered_beside("tenant.limit_stored");
	death_leaves_nothing();
	return 0;
}
