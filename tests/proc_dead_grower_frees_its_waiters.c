/*
 * A process is killed exactly where others may wait for it: at each point at which it has announced
 * a rise and not yet taken it back, the nearest thing to a lock that the ledger has; at each at
 * which it holds the byte under which tenants are made and changed; and at each at which it holds a
 * dead one's locks in order to forget it. Four others that wait proceed within 1 s, and nothing of
 * the victim is left.
 */
/* report: DL-01 */
#include "proc_helper.h"

#define LIMIT (1024 * MIB)
#define WAITERS 4

struct holding {
	const char *name;
	const char *from, *to; /* it holds from one point to before the other, NULL: the end */
	struct order op;       /* of the victim */
	struct order wanted;   /* by the waiters */
	bool joined;	       /* they are in before */
	bool with_dead;	       /* somebody who held most of the limit is dead, not forgotten */
	const char *waits_at;  /* where a waiter is known to wait, NULL: nowhere in particular */
	uint32_t each;	       /* what each waiter has in the end, units */
};

#define JOIN(tenant)                                                                         \
	{                                                                                    \
		.op = OP_JOIN, .name = tenant, .limit = BYTES(LIMIT), .keep_ns = 600000 * MS \
	}
#define SET(bytes)                                                               \
	{                                                                        \
		.op = OP_ADMINISTER, .name = "a", .limit = (bytes), .keep_ns = 1 \
	}
#define CHARGE(units_)                             \
	{                                          \
		.op = OP_CHARGE, .units = (units_) \
	}

static const struct holding holdings[] = {
	{.name = "growing",
	 .from = "account.announced",
	 .to = "account.retracted",
	 .op = CHARGE(800 * MIB),
	 .wanted = CHARGE(200 * MIB),
	 .joined = true,
	 .each = 200 * MIB},
	{.name = "making a tenant",
	 .from = "life.settling",
	 .to = "member.unsettled",
	 .op = JOIN("b"),
	 .wanted = JOIN("b"),
	 .waits_at = "life.settle_busy"},
	{.name = "setting a limit",
	 .from = "life.settling",
	 .op = SET(BYTES(LIMIT - MIB)),
	 .wanted = SET(BYTES(LIMIT)),
	 .joined = true,
	 .waits_at = "life.settle_busy"},
	{.name = "forgetting",
	 .from = "life.claim_life",
	 .to = "member.unclaimed",
	 .op = {.op = OP_SWEEP},
	 .wanted = CHARGE(200 * MIB),
	 .joined = true,
	 .with_dead = true,
	 .each = 200 * MIB},
};

static struct worker *victim, *w[WAITERS];

static void set_scene(const struct holding *h)
{
	const struct order sweep = {.op = OP_SWEEP};
	struct worker *dead;

	world_start(BYTES(4 * GIB), 50);
	/* First in, so that it has the lowest slot, before which all others stand back. */
	victim = worker_start();
	if (h->joined)
		CHECK_EQ(worker_join(victim, "a", BYTES(LIMIT), 0), 0);
	else
		worker_joined("a", BYTES(LIMIT), 0);
	for (int i = 0; i < WAITERS; i++)
		w[i] = h->joined ? worker_joined("a", BYTES(LIMIT), 0) : worker_start();
	if (!h->with_dead)
		return;
	dead = worker_joined("a", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(dead, 900 * MIB), 0);
	worker_do(victim, &sweep);
	worker_kill(dead);
}

/* The points at which the victim holds what others may wait for. */
static unsigned list_points(const struct holding *h, char names[POINTS_MOST][48])
{
	const struct order list = {.op = OP_LIST};
	unsigned n = 0;
	bool holds = false;

	set_scene(h);
	worker_do(victim, &list);
	CHECK_EQ(worker_do(victim, &h->op).rc, 0);
	for (unsigned i = 0; i < POINTS_MOST && world.shared->points[i].name[0]; i++) {
		const char *const name = world.shared->points[i].name;

		holds = (holds || !strcmp(name, h->from)) && (!h->to || strcmp(name, h->to));
		if (holds)
			memcpy(names[n++], name, sizeof(names[0]));
	}
	world_end();
	return n;
}

static void proceeds(struct worker *waiter, const struct holding *h)
{
	struct answer a;

	CHECK_EQ(worker_hear(waiter, &a), HEARD);
	CHECK_LE(a.ns, 1000 * MS);
	/* Who was judged before the kill may have been refused; now there is room. */
	if (a.rc == -EDQUOT && h->wanted.op == OP_CHARGE) {
		a = worker_do(waiter, &h->wanted);
		CHECK_LE(a.ns, 1000 * MS);
	}
	CHECK_EQ(a.rc, 0);
	if (h->wanted.op != OP_JOIN)
		return;
	waiter->joined = true;
	waiter->slot = a.slot;
	waiter->gen = a.gen;
	waiter->tenant = a.tenant;
}

static void kill_at(const struct holding *h, const char *name)
{
	struct answer a;

	in_context("killed while %s, at %s", h->name, name);
	set_scene(h);
	worker_arm(victim, name, 1, SIGSTOP);
	worker_tell(victim, &h->op);
	CHECK_EQ(worker_hear(victim, &a), HEARD_STOPPED);
	for (int i = 0; i < WAITERS; i++) {
		if (h->waits_at)
			worker_arm(w[i], h->waits_at, 1, SIGSTOP);
		worker_tell(w[i], &h->wanted);
	}
	if (h->waits_at)
		for (int i = 0; i < WAITERS; i++) {
			struct pollfd p = {.fd = w[i]->socket, .events = POLLIN};
			int status;

			/* Stopped where it waits; or it did not need to wait, and its answer is
			 * there to be heard. */
			while (waitpid(w[i]->pid, &status, WNOHANG | WUNTRACED) == 0 &&
			       poll(&p, 1, 1) == 0)
				;
		}
	CHECK_SYS(kill(victim->pid, SIGKILL));
	CHECK_EQ(worker_hear(victim, &a), HEARD_DEAD);
	world.shared->holds[victim->index] = 0;
	for (int i = 0; i < WAITERS; i++)
		CHECK_SYS(kill(w[i]->pid, SIGCONT));
	for (int i = 0; i < WAITERS; i++)
		proceeds(w[i], h);
	worker_units(w[0], OP_SWEEP, 0);
	ledger_is_true("after the kill");
	CHECK_EQ(ledger_charged(UINT32_MAX), (uint64_t)WAITERS * h->each);
	CHECK_EQ(ledger_used_slots(), (uint32_t)WAITERS + !h->joined);
	world_end();
}

int main(int argc, char **argv)
{
	static char names[POINTS_MOST][48];

	workers_enter(argc, argv, NULL);
	for (unsigned i = 0; i < sizeof(holdings) / sizeof(holdings[0]); i++) {
		const unsigned n = list_points(&holdings[i], names);

		printf("%s: held at %u points\n", holdings[i].name, n);
		CHECK_GE(n, 4u);
		for (int turn = 0; turn < (test_long() ? 20 : 1); turn++)
			for (unsigned k = 0; k < n; k++)
				kill_at(&holdings[i], names[k]);
	}
	return 0;
}
