/*
 * A process is killed at instructions all through join, charge, grow in all its outcomes, refund,
 * forget, leave, making a tenant and tightening, with and without a child that outlives it.
 * Survivors of every kind proceed within their budget, the limit holds throughout, and after one
 * sweep the ledger is the truth, no slot lost and no byte.
 */
/* timeout: 60 */
#include "step/sweep.h"

static void killed_at(unsigned index, unsigned turn, const struct stepped *s)
{
	const struct scene *const scene = sweep_scene(index);

	late.ns = 0;
	step_kill(s);
	cast.victim->gone = true;
	if (!(scene->traits & FORKED)) {
		cast.victim->joined = false;
		after_kill(scene);
		return;
	}
	/* A ghost: what it held is held until its child ends. */
	survive(scene);
	worker_units(cast.other, OP_SWEEP, 0);
	worker_units(cast.same, OP_FILL, MIB);
	CHECK_LE(really_held(cast.same->tenant), (uint64_t)LIMIT);
	end_child();
	cast.victim->joined = false;
	world.shared->holds[cast.victim->index] = 0;
	settle_down(scene);
	world_end();
}

int main(int argc, char **argv)
{
	struct sweep w = {.done = {"killed"},
			  .turns = 1,
			  .hit = killed_at,
			  .others = 6,
			  .few = 60,
			  .most = 5000};
	const unsigned runs = sweep(&w, argc, argv);

	if (argc == 1 && test_long())
		CHECK_GE(runs, 1000u);
	return 0;
}
