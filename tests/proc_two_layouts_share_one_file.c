/*
 * A later release made the file: bigger header, bigger records and slots, more details, feature
 * bits and fields that this one does not know, filled with what would hurt if it were read or
 * written. Members of this release work in it, and leave every byte that is not theirs as it was.
 */
#include "proc_files.h"

static struct shape later = {
	.members = 100,
	.member_stride = 256,
	.tenants = 7,
	.tenant_stride = 512,
	.detail_stride = 1024,
	.header_bytes = 8192,
	.features = 0xdead0000beef0000ull | CUQUOTA_MAPS,
	.tail = 4096,
	.fill = 0xa5,
};

/* Is `at` inside something that this release knows? */
static bool known(const struct cuquota_header *h, size_t at)
{
	if (at < sizeof(*h))
		return true;
	if (at >= h->detail_offset &&
	    at < h->detail_offset + (uint64_t)h->member_count * h->detail_stride)
		return (at - h->detail_offset) % h->detail_stride < sizeof(struct cuquota_detail);
	if (at >= h->member_offset && at < h->detail_offset)
		return (at - h->member_offset) % h->member_stride < sizeof(struct cuquota_slot);
	if (at >= h->tenant_offset &&
	    at < h->tenant_offset + (uint64_t)h->tenant_count * h->tenant_stride)
		return (at - h->tenant_offset) % h->tenant_stride <
		       sizeof(struct cuquota_tenant) + (h->features & CUQUOTA_MAPS ? 16 : 0);
	return false;
}

static void work_in_it(void)
{
	struct cuquota_header h;
	struct worker *w[4];
	struct stat stat_now;
	uint8_t *image;

	world_start(BYTES(4 * GIB), 30);
	h = shape_header(&later, world.device_bytes);
	shape_write(&later, &h);
	for (int i = 0; i < 4; i++)
		w[i] = worker_joined(i % 2 ? "a" : "b", BYTES(GIB), BYTES(GIB / 2));
	for (int i = 0; i < 4; i++)
		CHECK_EQ(worker_charge(w[i], 500 * MIB), 0);
	CHECK_EQ(worker_charge(w[0], 100 * MIB), -EDQUOT);
	ledger_is_true("when full");
	worker_kill(w[0]);
	CHECK_EQ(worker_charge(w[2], 500 * MIB), 0);
	worker_refund(w[1], 500 * MIB);
	CHECK_EQ(worker_units(w[1], OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_join(w[1], "c", BYTES(GIB), 0), 0);
	CHECK_EQ(worker_charge(w[1], GIB), 0);
	ledger_is_true("at the end");

	CHECK_EQ(ledger()->member_stride, 256u);
	CHECK_SYS(stat(ledger_path(), &stat_now));
	CHECK_EQ((uint64_t)stat_now.st_size, h.file_bytes);
	image = (uint8_t *)ledger()->header;
	for (size_t i = 0; i < h.file_bytes; i++)
		if (!known(&h, i) && image[i] != later.fill)
			FAIL("byte %zu, which is a later release's, was changed to %#x", i,
			     image[i]);
	CHECK_EQ(ledger()->header->features, later.features);
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	work_in_it();
	/* One that keeps no maps: then all slots are looked at. */
	later.features &= ~(uint64_t)CUQUOTA_MAPS;
	work_in_it();
	return 0;
}
