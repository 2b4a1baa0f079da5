/*
 * Each time that a process has gone into its tenant the tenant's rules are others than they were
 * settled to be. After a few tries it gives up, and the reason names the rules and not the files.
 */
#include "proc_helper.h"

static struct self *own;
static unsigned times;

/* What no process does that takes the settle byte. */
static void rewrite(const char *name)
{
	if (strcmp(name, "member.published") != 0)
		return;
	times++;
	__atomic_store_n(&segment_tenant(&own->segment, 0)->limit, BYTES(8 * GIB),
			 __ATOMIC_SEQ_CST);
}

static void join(struct self *self, const struct order *o, struct answer *a)
{
	const struct tenant_wish wish = {"t", BYTES(GIB), 0, 0};

	own = self;
	a->rc = own_open(self, a->why);
	point_each = rewrite;
	if (!a->rc)
		a->rc = member_join(self->member, &self->segment, &wish, -1, &a->outcome, a->why);
	point_each = NULL;
	a->value = times;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {join};
	const struct order call = {.op = OP_CALL};
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(16 * GIB), 20);
	a = worker_do(worker_start(), &call);
	CHECK_EQ(a.rc, -ESTALE);
	CHECK_GE(a.value, 2ull);
	CHECK_LE(a.value, 10ull);
	if (!strstr(a.why, "rules of tenant t") || strstr(a.why, ".life"))
		FAIL("the reason is \"%s\"", a.why);
	CHECK_EQ(ledger_used_slots(), 0u);
	return 0;
}
