/*
 * Beside members of other tenants with requests a grow reads all slots once, to know what the
 * others have; then only those of its own tenant, as long as that leaves room for certain. Where it
 * does not, all are read again, so that what others gave back can be had.
 */
#include "proc_helper.h"

#define OTHERS 12u
#define TENANTS 4u

/* How many slots the charge reads. */
static unsigned reads(struct worker *w, uint32_t units)
{
	const struct order list = {.op = OP_LIST};

	worker_do(w, &list);
	CHECK_EQ(worker_charge(w, units), 0);
	for (unsigned i = 0; i < POINTS_MOST && world.shared->points[i].name[0]; i++)
		if (!strcmp(world.shared->points[i].name, "sum.between"))
			return world.shared->points[i].times;
	return 0;
}

int main(int argc, char **argv)
{
	struct worker *others[OTHERS], *one;
	char name[16];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(64 * GIB), 20);
	for (unsigned i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), "other-%u", i % TENANTS);
		others[i] = worker_joined(name, CUQUOTA_NONE, BYTES(2 * GIB));
		CHECK_EQ(worker_charge(others[i], 100 * MIB), 0);
	}
	one = worker_joined("own", CUQUOTA_NONE, 0);
	CHECK_EQ(reads(one, 64 * MIB), OTHERS + 1);
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQ(reads(one, 64 * MIB), 1u);
	/* Whoever comes and rises is known by that. */
	CHECK_EQ(worker_charge(others[0], 10 * GIB), 0);
	CHECK_EQ(worker_charge(worker_joined("new", CUQUOTA_NONE, BYTES(GIB)), 100 * MIB), 0);
	CHECK_EQ(reads(one, 64 * MIB), 1u);
	/* More than is left if nothing was given back. */
	worker_refund(others[0], 10 * GIB);
	CHECK_OP(reads(one, 48 * GIB), >, OTHERS + 1);
	ledger_is_true("at the end");
	world_end();
	return 0;
}
