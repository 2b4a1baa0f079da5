/*
 * A later release made the file, with more records of tenants than this one makes. Wherever in it a
 * tenant's record lies, what it was promised is not lent by members of this release, nor is what it
 * holds; and tenants beyond this release's own count get what is left.
 */
#include "proc_files.h"

#define RECORDS 300u
#define LAST (CUQUOTA_TENANTS - 1)
#define REQUEST (4 * GIB)

static struct shape later = SHAPE_SMALL(64, RECORDS);

/* A file in which all records but these are taken by tenants that are not there. */
static void make(const uint32_t *kept_free, unsigned count)
{
	struct cuquota_header h = shape_header(&later, world.device_bytes);
	int file;

	h.tenants_high = RECORDS;
	shape_write(&later, &h);
	file = open(ledger_path(), O_WRONLY | O_CLOEXEC);
	CHECK_SYS(file);
	for (uint32_t i = 0; i < RECORDS; i++) {
		struct cuquota_tenant record = {
			.state = CUQUOTA_USED, .flags = CUQUOTA_ADMINISTERED, .limit = GIB};

		snprintf(record.name, sizeof(record.name), "other-%u", i);
		for (unsigned k = 0; k < count; k++)
			if (kept_free[k] == i)
				memset(&record, 0, sizeof(record));
		CHECK_EQ(pwrite(file, &record, sizeof(record),
				(off_t)(h.tenant_offset + i * later.tenant_stride)),
			 (ssize_t)sizeof(record));
	}
	close(file);
}

static struct worker *joined_at(uint32_t record, const char *tenant, uint64_t request)
{
	struct worker *const w = worker_joined(tenant, CUQUOTA_NONE, request);

	CHECK_EQ(w->tenant, record);
	return w;
}

/* `first` is promised REQUEST and holds nothing yet; `second` borrows; `third`, without a promise,
 * holds 1 GiB. Ascending. */
static void borrows_beside(uint32_t first, uint32_t second, uint32_t third)
{
	const uint32_t records[] = {first, second, third};
	struct worker *promised, *borrower, *holder;

	world_start(BYTES(8 * GIB), 20);
	make(records, 3);
	promised = joined_at(first, "promised", BYTES(REQUEST));
	borrower = joined_at(second, "borrower", 0);
	holder = joined_at(third, "holder", 0);
	CHECK_EQ(worker_charge(holder, GIB), 0);
	if (!worker_charge(borrower, 3 * GIB + 1))
		FAIL("records %u, %u, %u: the borrower had more than is left", first, second,
		     third);
	CHECK_EQ(worker_charge(borrower, 3 * GIB), 0);
	CHECK_EQ(worker_charge(promised, REQUEST), 0);
	CHECK_EQ(worker_charge(borrower, MIB), -EDQUOT);
	/* Its time runs from here on. */
	worker_refund(promised, REQUEST);
	CHECK_EQ(worker_units(promised, OP_LEAVE, 0).rc, 0);
	CHECK_EQ(worker_charge(borrower, MIB), -EDQUOT);
	CHECK_EQ(worker_charge(holder, MIB), -EDQUOT);
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	borrows_beside(1, 2, 3);
	borrows_beside(LAST, LAST + 1, LAST + 2);
	borrows_beside(LAST - 1, LAST, LAST + 1);
	borrows_beside(LAST + 1, LAST + 20, LAST + 30);
	return 0;
}
