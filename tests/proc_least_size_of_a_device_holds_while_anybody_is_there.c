/*
 * A driver that says another size of the device than the ledger (another release, another mode of
 * the card): while anybody is there the lesser holds, so that nothing is promised that the device
 * has not; a member that finds nobody brings its own.
 */
#include "proc_helper.h"

static struct worker *join(const char *tenant, uint64_t device_bytes, uint64_t request)
{
	world.device_bytes = device_bytes;
	return worker_joined(tenant, CUQUOTA_NONE, request);
}

static int request(uint64_t bytes)
{
	const struct order o = order_join("late", CUQUOTA_NONE, bytes);

	return worker_do(worker_start(), &o).rc;
}

int main(int argc, char **argv)
{
	struct worker *w[3];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(8 * GIB), 20);
	w[0] = join("a", BYTES(8 * GIB), BYTES(2 * GIB));
	CHECK_EQ(ledger()->header->device_bytes, BYTES(8 * GIB));
	w[1] = join("b", BYTES(16 * GIB), 0);
	CHECK_EQ(ledger()->header->device_bytes, BYTES(8 * GIB));
	CHECK_EQ(request(BYTES(7 * GIB)), -ENOSPC);
	w[2] = join("c", BYTES(4 * GIB), 0);
	CHECK_EQ(ledger()->header->device_bytes, BYTES(4 * GIB));
	CHECK_EQ(request(BYTES(3 * GIB)), -ENOSPC);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(worker_units(w[i], OP_LEAVE, 0).rc, 0);
	join("d", BYTES(16 * GIB), BYTES(9 * GIB));
	CHECK_EQ(ledger()->header->device_bytes, BYTES(16 * GIB));
	world_end();
	return 0;
}
