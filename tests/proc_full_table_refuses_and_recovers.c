/*
 * A ledger with room for 8 members: the ninth is refused with the reason, nobody is hurt by it, and
 * once one has died or left the next has its slot. The same for a table of 3 tenants, where a place
 * is had again when a tenant is gone and nothing is promised to it any more.
 */
#include "proc_files.h"

static struct answer try_join(struct worker *w, const char *tenant, uint64_t request,
			      uint64_t keep_ns)
{
	struct order o = order_join(tenant, BYTES(GIB), request);

	o.keep_ns = keep_ns;
	return worker_do(w, &o);
}

static void members(void)
{
	const struct shape shape = SHAPE_SMALL(8, 4);
	struct worker *w[8], *late;
	struct answer a;

	world_start(BYTES(4 * GIB), 30);
	ledger_make(&shape);
	for (int i = 0; i < 8; i++) {
		w[i] = worker_joined("a", BYTES(GIB), 0);
		CHECK_EQ(worker_charge(w[i], 100 * MIB), 0);
	}
	late = worker_start();
	a = try_join(late, "a", 0, 0);
	CHECK_EQ(a.rc, -ENFILE);
	CHECK(strstr(a.why, "8 members"));
	CHECK(strstr(a.why, "CUQUOTA_DIR"));
	ledger_is_true("when full");
	worker_kill(w[3]);
	CHECK_EQ(try_join(late, "a", 0, 0).rc, 0);
	CHECK_EQ(late->slot, w[3]->slot);
	CHECK_EQ(worker_charge(late, 300 * MIB), 0);
	ledger_is_true("after one died");
	CHECK_EQ(worker_units(w[5], OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_join(w[5], "b", BYTES(GIB), 0), 0);
	ledger_is_true("after one left");
	CHECK_EQ(try_join(worker_start(), "a", 0, 0).rc, -ENFILE);
	world_end();
}

static void tenants(void)
{
	const struct shape shape = SHAPE_SMALL(8, 3);
	struct worker *a, *b, *c, *d;
	struct answer answer;

	world_start(BYTES(4 * GIB), 30);
	ledger_make(&shape);
	a = worker_start();
	b = worker_start();
	c = worker_start();
	d = worker_start();
	CHECK_EQ(try_join(a, "a", 0, 600000 * MS).rc, 0);
	CHECK_EQ(try_join(b, "b", BYTES(MIB), 600000 * MS).rc, 0);
	CHECK_EQ(try_join(c, "c", BYTES(MIB), 1).rc, 0);
	answer = try_join(d, "d", 0, 0);
	CHECK_EQ(answer.rc, -ENFILE);
	CHECK(strstr(answer.why, "3 tenants"));
	/* Promised for ten minutes more: kept. */
	worker_kill(b);
	CHECK_EQ(try_join(d, "d", 0, 0).rc, -ENFILE);
	/* Promised for a nanosecond more: free. */
	worker_kill(c);
	CHECK_EQ(try_join(d, "d", 0, 0).rc, 0);
	CHECK_EQ(worker_charge(d, GIB), 0);
	/* The fourth name is the third record's now; the third's owner finds no place
	 * until another is gone. */
	b = worker_start();
	c = worker_start();
	CHECK_EQ(try_join(c, "c", 0, 0).rc, -ENFILE);
	CHECK_EQ(try_join(b, "b", BYTES(MIB), 0).rc, 0);
	CHECK_EQ(worker_units(a, OP_LEAVE, 0).rc, 0);
	CHECK_EQ(try_join(c, "c", 0, 0).rc, 0);
	ledger_is_true("at the end");
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	members();
	tenants();
	return 0;
}
