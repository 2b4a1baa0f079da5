/*
 * A process is stepped through an allocation and a free one instruction at a time and killed after
 * each number of steps, with a neighbour of the same tag that then overwrites what the dead one
 * wrote last, or does not. Each time the ground truth is the neighbour's memory, and the maximum
 * counts the block if and only if it was taken. timeout: 120
 */
#include "sim_driver.h"

#include <sys/ptrace.h>

static int victim(void *arg)
{
	CUdeviceptr p;

	driver_start("v");
	/* Bind what is bound lazily, and carve the address. */
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 4 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	CHECK_EQ(ptrace(PTRACE_TRACEME, 0, 0, 0), 0);
	raise(SIGSTOP);
	cu.cuMemAlloc_v2(&p, 4 * MIB);
	cu.cuMemFree_v2(p);
	_exit(0);
}

static int neighbour(void *arg)
{
	CUdeviceptr p, q, r;
	char line;

	driver_start("v");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 4 * MIB), CUDA_SUCCESS);
	CHECK_EQ(cu.cuMemAlloc_v2(&q, 2 * MIB), CUDA_SUCCESS);
	dprintf(1, "done\n");
	/* An allocation that makes a new maximum looks for the dead first, a free does not. */
	while (read(0, &line, 1) == 1) {
		if (line == 'a') {
			CHECK_EQ(cu.cuMemAlloc_v2(&r, 2 * MIB), CUDA_SUCCESS);
			CHECK_EQ(cu.cuMemFree_v2(r), CUDA_SUCCESS);
		} else {
			CHECK_EQ(cu.cuMemFree_v2(q), CUDA_SUCCESS);
			CHECK_EQ(cu.cuMemAlloc_v2(&q, 2 * MIB), CUDA_SUCCESS);
		}
		dprintf(1, "done\n");
	}
	return 0;
}

/* Forgets the maxima so far, and kills a victim after `steps`; whether it got through. */
static int kill_after(const int steps)
{
	struct client v = client_fork(victim, NULL);
	int status, i;

	CHECK_EQ(waitpid(v.pid, &status, 0), v.pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(truth_reset(NULL), 0);
	for (i = 0; i < steps; i++) {
		CHECK_SYS(ptrace(PTRACE_SINGLESTEP, v.pid, 0, 0));
		CHECK_EQ(waitpid(v.pid, &status, 0), v.pid);
		if (!WIFSTOPPED(status))
			break;
	}
	if (i == steps) {
		kill(v.pid, SIGKILL);
		CHECK_EQ(waitpid(v.pid, &status, 0), v.pid);
	}
	close(v.to);
	close(v.from);
	return i < steps;
}

int main(void)
{
	const int stride = test_long() ? 1 : 3;
	int64_t max;
	struct client n;
	int steps, taken = 0, through = 0;

	one_card("24G");
	n = client_fork(neighbour, NULL);
	CLIENT_SAYS(&n, "done");
	for (steps = 0; !through; steps += stride) {
		through = kill_after(steps);
		if (steps / stride % 3) {
			CHECK_EQ(write(n.to, steps / stride % 3 == 1 ? "a" : "f", 1), 1);
			CLIENT_SAYS(&n, "done");
		}
		if (truth_held(NULL, 0, "v") != 6 * MIB)
			FAIL("killed after %d instructions, %lld bytes are held, want %lld", steps,
			     (long long)truth_held(NULL, 0, "v"), 6 * MIB);
		max = truth_max(NULL, 0, "v");
		/* The neighbour's two grains never add to what the dead one held. */
		if (max != 10 * MIB && max != 8 * MIB && max != 6 * MIB)
			FAIL("killed after %d instructions, the maximum is %lld", steps,
			     (long long)max);
		taken += max == 10 * MIB;
	}
	printf("%d instructions\n", steps);
	CHECK_GE(taken, 10);
	CHECK_GE(steps, 200);
	close(n.to);
	n.to = -1;
	CHECK_EQ(client_wait(&n, DEADLINE_MS), 0);
	return 0;
}
