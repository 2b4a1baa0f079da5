/*
 * A process is stopped at instructions all through join, charge, grow in all its outcomes, refund,
 * forget, leave, making a tenant and tightening, and later continued or, every other time, killed.
 * Survivors of every kind proceed within their budget and fill the tenant up, the limit holds
 * throughout, and at rest the ledger is the truth, no slot lost and no byte.
 *
 * What a stopped process may cost while it is stopped: what it held or had asked for, its tenant's
 * rules (a first join and a change of rules fail after 2 s, with the reason), and the slot that it
 * was about to forget.
 */
/* timeout: 60 */
#include "step/sweep.h"

static unsigned hits, kept_the_dead, settling;

static void stopped_at(unsigned index, unsigned turn, const struct stepped *s)
{
	const struct scene *const scene = sweep_scene(index);
	const uint64_t asked = scene->op.op == OP_CHARGE ? scene->op.units : 0;
	const bool dies = hits++ % 2 && !(scene->traits & PEER_COMMITS);

	late.ns = 0;
	step_stop(s);
	/*
	 * Survivors change rules too, and a grant that rests on an older sum is void then: it must
	 * be right without.
	 */
	if (scene->traits & PEER_COMMITS)
		peer_goes_on();
	else
		while_stopped(scene);
	settling += is_settling();
	if (cast.same->joined && scene->op.op != OP_FORCE && !(scene->traits & PEER_COMMITS)) {
		uint64_t held;

		worker_units(cast.same, OP_FILL, MIB);
		held = really_held(cast.same->tenant);
		CHECK_LE(held, (uint64_t)LIMIT);
		kept_the_dead += (scene->traits & WITH_DEAD) && held + 50 * MIB <= LIMIT - asked;
	}
	if (!dies) {
		after_stop(scene);
		return;
	}
	worker_kill(cast.victim);
	if (!cast.same->joined)
		survive(scene);
	settle_down(scene);
	world_end();
}

/*
 * The announcement of one that is about to commit: between its load and that of the word lies what
 * a sum must never miss.
 */
static uint32_t announced_by_peer(unsigned index)
{
	return sweep_scene(index)->traits & PEER_COMMITS ? 600 * MIB : 0;
}

int main(int argc, char **argv)
{
	struct sweep w = {.done = {"stopped"},
			  .turns = 1,
			  .hit = stopped_at,
			  .loads = announced_by_peer,
			  .others = 4,
			  .few = 30,
			  .most = 2000};
	unsigned runs;

	traits_left_out = FORKED;
	runs = sweep(&w, argc, argv);
	printf("%u times the rules were in its hands, %u times a dead one's bytes\n", settling,
	       kept_the_dead);
	if (argc == 1 && test_long())
		CHECK_GE(runs, 1000u);
	return 0;
}
