/*
 * A process that closes every descriptor behind the driver's back still holds its memory, and gives
 * it back at its end.
 */
#include "sim_driver.h"

static int body(void *arg)
{
	CUdeviceptr p;

	driver_start("a");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 8 * MIB), CUDA_SUCCESS);
	CHECK_SYS(close_range(3, ~0U, 0));
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 8 * MIB), CUDA_SUCCESS);
	dprintf(1, "ready\n");
	for (;;)
		pause();
}

int main(void)
{
	struct client c;

	one_card("24G");
	c = client_fork(body, NULL);
	CLIENT_SAYS(&c, "ready");
	CHECK_EQ(truth_held(NULL, 0, "a"), 16 * MIB);
	client_kill(&c, SIGKILL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 128 + SIGKILL);
	CHECK_EQ(truth_held(NULL, 0, "a"), 0);
	return 0;
}
