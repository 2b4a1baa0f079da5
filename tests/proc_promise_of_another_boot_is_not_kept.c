/*
 * A ledger folder on disk outlives the kernel. What a tenant was promised before the reboot is not
 * waited for, and its limit does not bind whoever comes first now. The file is given the mark of
 * another boot, and a time that would still be kept by this one's clock.
 *
 * report: SS-02
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (600 * MIB)

int main(int argc, char **argv)
{
	static struct segment segment; /* another one than the workers' */
	struct worker *before, *after, *again;
	char why[SEGMENT_WHY];
	struct order o = order_join("a", BYTES(700 * MIB), BYTES(REQUEST));

	workers_enter(argc, argv, NULL);
	world_start(BYTES(DEVICE), 20);
	o.keep_ns = 600000 * MS;
	before = worker_start();
	CHECK_EQ(worker_do(before, &o).rc, 0);
	CHECK_EQ(worker_charge(before, 100 * MIB), 0);
	worker_kill(before);
	CHECK_EQ(segment_open(&segment, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER,
			      why),
		 0);
	CHECK_EQ(member_sweep(&segment, segment_now_ns(), UINT64_MAX), 1u);
	CHECK(tenant_is_promised(&segment, 0, segment_now_ns()));
	segment.header->boot_id[3] ^= 0xff;

	after = worker_joined("b", CUQUOTA_NONE, 0);
	CHECK(segment_is_of_this_boot(&segment));
	CHECK_EQ(worker_charge(after, DEVICE), 0);
	worker_refund(after, DEVICE);
	again = worker_joined("a", CUQUOTA_NONE, 0);
	CHECK_EQ(worker_charge(again, DEVICE), 0);
	world_end();
	return 0;
}
