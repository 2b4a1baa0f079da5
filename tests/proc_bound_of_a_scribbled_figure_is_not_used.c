/*
 * What a tenant has risen by is scribbled over: put back, or to more than any device has. Who goes
 * by it sums all slots instead, and beside a third one's guarantee is granted what just fits and no
 * more.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define LIMIT (400 * MIB) /* of the one who looks: less than it could have beside the guarantee */
#define RISE (300 * MIB)
#define LEFT (DEVICE - REQUEST - RISE - 10 * MIB)

static void scribble(uint32_t tenant, uint64_t risen)
{
	const char *const record = (const char *)segment_tenant(ledger(), tenant);
	const off_t offset = record - (const char *)ledger()->header +
			     (off_t)offsetof(struct cuquota_tenant, risen);
	const int file = open(ledger_path(), O_WRONLY | O_CLOEXEC);

	CHECK_SYS(file);
	CHECK_EQ(pwrite(file, &risen, sizeof(risen), offset), (ssize_t)sizeof(risen));
	close(file);
}

/* The other tenant was noted with what it has, or has joined since. */
static void round_of(const char *name, bool noted, uint64_t risen)
{
	struct worker *other = NULL, *looker;
	struct answer a;

	in_context("%s", name);
	world_start(BYTES(DEVICE), 20);
	worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	if (noted) {
		other = worker_joined("other", CUQUOTA_NONE, 0);
		CHECK_EQ(worker_charge(other, RISE), 0);
	}
	looker = worker_joined("looker", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
	if (!noted) {
		other = worker_joined("other", CUQUOTA_NONE, 0);
		CHECK_EQ(worker_charge(other, RISE), 0);
	}
	scribble(other->tenant, risen);
	a = worker_units(looker, OP_CHARGE, LEFT + 1);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	CHECK_EQ(worker_charge(looker, LEFT), 0);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
	ledger_is_true("at the end");
	world_end();
}

int main(int argc, char **argv)
{
	workers_enter(argc, argv, NULL);
	round_of("put back", true, 0);
	/* So many bytes are none in 64 bits. */
	round_of("of one who is noted, to more than there is", true, (1ull << 48) - RISE);
	round_of("of one who joined since, to more than there is", false, 1ull << 48);
	return 0;
}
