/*
 * A later release's table has more tenants than a member of this one can note. What lies behind its
 * handle stays as it was, and a tenant beyond that appears after it has noted the others is counted
 * all the same.
 */
#include "proc_files.h"

#define RECORDS 300u
#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define LIMIT (400 * MIB) /* of the one who looks: less than it could have beside the guarantee */
#define RISE (300 * MIB)
#define LEFT (DEVICE - REQUEST - RISE - 10 * MIB)
#define BEHIND (RECORDS * 8) /* bytes */
#define PATTERN 0xa5

static void fill(struct self *self, const struct order *o, struct answer *a)
{
	void *const page = page_that_fork_wipes(sizeof(struct member) + BEHIND);

	memcpy(page, self->member, sizeof(struct member));
	memset((char *)page + sizeof(struct member), PATTERN, BEHIND);
	self->member = page;
}

/* Bytes behind the handle that are no more what they were. */
static void look(struct self *self, const struct order *o, struct answer *a)
{
	const unsigned char *const behind = (const unsigned char *)(self->member + 1);

	for (unsigned i = 0; i < BEHIND; i++)
		a->value += behind[i] != PATTERN;
}

enum call { FILL,
	    LOOK };

/* Those below `first_free` are of tenants that are not there. */
static void make(uint32_t used, uint32_t first_free)
{
	const struct shape later = SHAPE_SMALL(64, RECORDS);
	struct cuquota_header h = shape_header(&later, world.device_bytes);
	int file;

	h.tenants_high = used;
	shape_write(&later, &h);
	file = open(ledger_path(), O_WRONLY | O_CLOEXEC);
	CHECK_SYS(file);
	for (uint32_t i = 0; i < first_free; i++) {
		struct cuquota_tenant record = {
			.state = CUQUOTA_USED, .flags = CUQUOTA_ADMINISTERED, .limit = GIB};

		snprintf(record.name, sizeof(record.name), "other-%u", i);
		CHECK_EQ(pwrite(file, &record, sizeof(record),
				(off_t)(h.tenant_offset + i * later.tenant_stride)),
			 (ssize_t)sizeof(record));
	}
	close(file);
}

/* Those who come have the free records, and one that is new where these are not enough. */
static void round_of(const char *name, uint32_t used, uint32_t first_free, uint32_t others)
{
	struct worker *looker, *other;
	struct answer a;

	in_context("a table %s", name);
	world_start(BYTES(DEVICE), 20);
	make(used, first_free);
	worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	looker = worker_start();
	worker_units(looker, OP_CALL, FILL);
	CHECK_EQ(worker_join(looker, "looker", BYTES(LIMIT), 0), 0);
	CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
	other = worker_joined("other", CUQUOTA_NONE, 0);
	CHECK_EQ(other->tenant, others);
	CHECK_EQ(worker_charge(other, RISE), 0);
	a = worker_units(looker, OP_CHARGE, LEFT + 1);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	CHECK_EQ(worker_charge(looker, LEFT), 0);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
	CHECK_EQ(worker_units(looker, OP_CALL, LOOK).value, 0u);
	world_end();
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {[FILL] = fill, [LOOK] = look};

	workers_enter(argc, argv, calls);
	round_of("in use", RECORDS, RECORDS - 3, RECORDS - 1);
	round_of("that grows", CUQUOTA_TENANTS, CUQUOTA_TENANTS - 2, CUQUOTA_TENANTS);
	return 0;
}
