/*
 * A process is stopped (SIGSTOP, a paused container, a debugger) at every point inside join,
 * charge, grow in all its outcomes, refund, forget, leave, making a tenant and tightening.
 * Survivors of every kind proceed within their budget and fill the tenant up; when the stopped one
 * is continued it goes on rightly, the limit holds throughout, and at rest the ledger is the truth.
 */
/* timeout: 120 */
#include "proc_matrix.h"

static bool waited_for_settling;

static void stopped_at(const struct scene *s, const char *name, uint32_t nth)
{
	const struct order set = {.op = OP_ADMINISTER, .name = "o", .limit = BYTES(GIB - MIB)};
	struct answer a;
	int heard;

	/* A sweep that another has just made takes a point away: then the scene is set anew. */
	for (int attempt = 1;; attempt++) {
		scene_set(s);
		worker_arm(cast.victim, name, nth, SIGSTOP);
		worker_tell(cast.victim, &s->op);
		heard = worker_hear(cast.victim, &a);
		if (heard == HEARD_STOPPED)
			break;
		if (attempt == 3)
			FAIL("the point was not reached again (%d)", heard);
		world_end();
	}
	while_stopped(s);
	if ((!waited_for_settling || test_long()) && is_settling()) {
		/* Rules cannot be changed while another is in the middle of it: refused with a
		 * reason, after 2 s. */
		a = worker_do(cast.setter, &set);
		CHECK_EQ(a.rc, -EBUSY);
		CHECK_OP(a.ns, >, 1500 * MS);
		CHECK_OP(a.ns, <, 3000 * MS);
		waited_for_settling = true;
	}
	after_stop(s);
}

int main(int argc, char **argv)
{
	static struct passed points[POINTS_MOST];
	unsigned runs = 0;

	workers_enter(argc, argv, matrix_calls);
	for (unsigned i = 0; i < SCENES; i++) {
		const unsigned n = scene_list(&scenes[i], points);

		for (unsigned k = 0; k < n; k++)
			for (uint32_t nth = 1; nth <= 2 && nth <= points[k].times; nth++) {
				in_context("%s, stopped at %s (%u)", scenes[i].name, points[k].name,
					   nth);
				for (int attempt = 0; attempt < 3 && (attempt == 0 || late.ns);
				     attempt++) {
					late.ns = 0;
					stopped_at(&scenes[i], points[k].name, nth);
				}
				if (late.ns)
					FAIL("three times: %s", late.what);
				runs++;
			}
	}
	printf("stopped %u times\n", runs);
	return 0;
}
