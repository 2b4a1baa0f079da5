/*
 * Two processes are the first of the same tenant at the same time. One is stopped in the middle of
 * making the record: the other waits for it, and both are then in one record under one limit.
 */
#include "proc_helper.h"

static bool busy(void)
{
	for (unsigned i = 0; i < POINTS_MOST && world.shared->points[i].name[0]; i++)
		if (!strcmp(world.shared->points[i].name, "life.settle_busy"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const char *const points[] = {"life.settling", "tenant.named", "tenant.limit_stored",
					     "member.settled", "member.high_raised"};
	const struct order join = order_join("a", BYTES(GIB), 0), list = {.op = OP_LIST};
	struct worker *one, *two;
	struct answer a[2];

	workers_enter(argc, argv, NULL);
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		in_context("stopped at %s", points[i]);
		world_start(BYTES(4 * GIB), 20);
		one = worker_start();
		two = worker_start();
		worker_arm(one, points[i], 1, SIGSTOP);
		worker_tell(one, &join);
		CHECK_EQ(worker_hear(one, &a[0]), HEARD_STOPPED);
		worker_do(two, &list);
		worker_tell(two, &join);
		while (!busy()) {
			struct pollfd p = {.fd = two->socket, .events = POLLIN};

			if (poll(&p, 1, 0) == 1)
				FAIL("the second joined while the first was settling");
		}
		worker_go_on(one);
		CHECK_EQ(worker_hear(one, &a[0]), HEARD);
		CHECK_EQ(a[0].rc, 0);
		CHECK_EQ(worker_hear(two, &a[1]), HEARD);
		CHECK_EQ(a[1].rc, 0);
		CHECK_EQ(a[0].tenant, a[1].tenant);
		CHECK_EQ(worker_charge(one, 600 * MIB), 0);
		CHECK_EQ(worker_charge(two, 600 * MIB), -EDQUOT);
		world_end();
	}
	return 0;
}
