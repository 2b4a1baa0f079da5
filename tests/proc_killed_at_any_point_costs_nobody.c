/*
 * A process is killed at every point inside join, charge, grow in all its outcomes, refund, forget,
 * leave, making a tenant and tightening: every store to the ledger has one before and one after it.
 * Survivors of every kind proceed within their budget, the limit holds throughout, and after one
 * sweep the ledger is the truth, no slot lost and no byte.
 */
/* timeout: 120 */
#include "proc_matrix.h"

static void killed_at(const struct scene *s, const char *name, uint32_t nth)
{
	struct answer a;
	int heard;

	/* A sweep that another has just made takes a point away: then the scene is set anew. */
	for (int attempt = 1;; attempt++) {
		scene_set(s);
		worker_arm(cast.victim, name, nth, SIGKILL);
		worker_tell(cast.victim, &s->op);
		heard = worker_hear(cast.victim, &a);
		if (heard == HEARD_DEAD)
			break;
		if (attempt == 3)
			FAIL("the point was not reached again (%d)", heard);
		world_end();
	}
	after_kill(s);
}

int main(int argc, char **argv)
{
	static struct passed points[POINTS_MOST], all[POINTS_MOST];
	unsigned kinds = 0, runs = 0;

	workers_enter(argc, argv, matrix_calls);
	for (unsigned i = 0; i < SCENES; i++) {
		const unsigned n = scene_list(&scenes[i], points);

		for (unsigned k = 0; k < n; k++) {
			unsigned known = 0;

			while (known < kinds && strcmp(all[known].name, points[k].name))
				known++;
			if (known == kinds)
				all[kinds++] = points[k];
			for (uint32_t nth = 1; nth <= 2 && nth <= points[k].times; nth++) {
				in_context("%s, killed at %s (%u)", scenes[i].name, points[k].name,
					   nth);
				for (int attempt = 0; attempt < 3 && (attempt == 0 || late.ns);
				     attempt++) {
					late.ns = 0;
					killed_at(&scenes[i], points[k].name, nth);
				}
				if (late.ns)
					FAIL("three times: %s", late.what);
				runs++;
			}
		}
	}
	printf("killed %u times, at %u points\n", runs, kinds);
	CHECK_GE(kinds, 30u);
	return 0;
}
