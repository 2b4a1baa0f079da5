/*
 * What the reading API shows as free is what a member would be granted, however the promise to
 * another tenant stands: its member died unnoticed, was noticed and the request is kept, or the
 * time when it left was cleared as one of another boot.
 */
#include "proc_helper.h"

#include <cuquota/cuquota.h>

#define DEVICE (1024 * MIB)
#define REQUEST (600 * MIB)

static struct segment segment;

static void check_free(const char *when, uint64_t want)
{
	const struct cuquota_snapshot *now;
	const struct cuquota_tenant_info *tenant = NULL;
	struct account_use use;
	struct cuquota *ledgers;

	CHECK_EQ(cuquota_open(world.dir, &ledgers), 0);
	CHECK_EQ(cuquota_snapshot(ledgers, &now), 0);
	CHECK_EQ(now->device_count, 1u);
	for (uint32_t i = 0; i < now->device[0].tenant_count; i++)
		if (!strcmp(now->device[0].tenant[i].name, "b"))
			tenant = &now->device[0].tenant[i];
	CHECK(tenant != NULL);
	CHECK_EQ(account_use(&segment, (uint32_t)tenant_find(&segment, "b"), &use), 0);
	if (tenant->free != use.free || tenant->free != want)
		FAIL("%s: shown %llu, granted %llu, expected %llu", when,
		     (unsigned long long)tenant->free, (unsigned long long)use.free,
		     (unsigned long long)want);
	cuquota_close(ledgers);
}

int main(int argc, char **argv)
{
	struct order o = order_join("a", CUQUOTA_NONE, BYTES(REQUEST));
	struct worker *before;
	char why[SEGMENT_WHY];

	workers_enter(argc, argv, NULL);
	world_start(BYTES(DEVICE), 20);
	o.keep_ns = 600000 * MS;
	before = worker_start();
	CHECK_EQ(worker_do(before, &o).rc, 0);
	worker_joined("b", CUQUOTA_NONE, 0);
	CHECK_EQ(segment_open(&segment, world.dir, world.uuid, world.device_bytes, SEGMENT_MEMBER,
			      why),
		 0);
	check_free("alive", BYTES(DEVICE - REQUEST));
	worker_kill(before);
	check_free("dead", BYTES(DEVICE - REQUEST));
	CHECK_EQ(member_sweep(&segment, segment_now_ns(), UINT64_MAX), 1u);
	check_free("kept", BYTES(DEVICE - REQUEST));
	__atomic_store_n(&segment_tenant(&segment, 0)->left_ns, 0, __ATOMIC_SEQ_CST);
	check_free("cleared", BYTES(DEVICE));
	world_end();
	return 0;
}
