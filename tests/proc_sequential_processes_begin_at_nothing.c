/*
 * Twenty processes of one tenant, one after the other: each finds its predecessor's use gone, and
 * its own charge of 256 MiB is a change of exactly that in what is shown; also while the
 * predecessor is only just being killed.
 */
/* report: SS-01 */
#include "proc_helper.h"

static struct account_use use_of(const struct worker *w)
{
	struct account_use use;

	CHECK_EQ(account_use(ledger(), w->tenant, &use), 0);
	return use;
}

int main(int argc, char **argv)
{
	struct worker *last = NULL;
	struct account_use before, after;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	for (int i = 0; i < 20; i++) {
		struct worker *const w = worker_start();
		const bool overlaps = i % 2;

		if (last && overlaps)
			CHECK_SYS(kill(last->pid, SIGKILL));
		CHECK_EQ(worker_join(w, "a", BYTES(GIB), 0), 0);
		if (last && overlaps) {
			CHECK_EQ(waitpid(last->pid, NULL, 0), last->pid);
			last->gone = true;
			last->joined = false;
		}
		worker_units(w, OP_SWEEP, 0);
		before = use_of(w);
		CHECK_EQ(before.charged, 0ull);
		CHECK_EQ(before.free, BYTES(GIB));
		CHECK_EQ(worker_charge(w, 256 * MIB), 0);
		after = use_of(w);
		CHECK_EQ(after.charged - before.charged, BYTES(256 * MIB));
		CHECK_EQ(before.free - after.free, BYTES(256 * MIB));
		CHECK_EQ(after.members, 1u);
		ledger_is_true("with one member");
		if (!overlaps) {
			/* The next is killed by its successor; this one leaves as a program does
			 * that ends well. */
			last = w;
			continue;
		}
		CHECK_EQ(worker_units(w, OP_LEAVE, 0).rc, 0);
		last = NULL;
	}
	return 0;
}
