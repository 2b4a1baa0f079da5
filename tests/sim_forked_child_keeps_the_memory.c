/*
 * Memory hangs on an open file that fork inherits: a child that outlives its killed parent keeps
 * it, until the child ends, executes something else or closes the file. The child itself can do
 * nothing with it.
 */
#include "sim_driver.h"

static int parent(void *arg)
{
	const char how = *(const char *)arg;
	CUdeviceptr p;
	size_t f, t;
	pid_t child;
	int ready[2], go[2];
	char byte;

	driver_start("parent");
	CHECK_EQ(cu.cuMemAlloc_v2(&p, 64 * MIB), CUDA_SUCCESS);
	CHECK_SYS(pipe(ready));
	CHECK_SYS(pipe(go));
	child = fork();
	CHECK_SYS(child);
	if (!child) {
		close(go[1]);
		CHECK_EQ(cu.cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_EQ(cu.cuMemAlloc_v2(&p, 64 * MIB), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_EQ(cu.cuMemFree_v2(p), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_EQ(cu.cuMemGetInfo_v2(&f, &t), CUDA_ERROR_NOT_INITIALIZED);
		/* a stub */
		CHECK_EQ(cu.cuMemAllocAsync(&p, 64 * MIB, NULL), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_EQ(write(ready[1], "x", 1), 1);
		/* One more generation: the file is inherited again. */
		if (how == 'g' && fork())
			_exit(0);
		read(0, &byte, 1); /* until the test says so */
		if (how == 'e')
			execlp("sleep", "sleep", "100", NULL);
		if (how == 'c') {
			close_range(3, ~0U, 0);
			pause();
		}
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	dprintf(1, "%d\n", (int)child);
	for (;;)
		pause();
}

static void round_of(const char *how)
{
	struct client c = client_fork(parent, (void *)(uintptr_t)how);
	const pid_t child = atoi(client_line(&c, DEADLINE_MS));
	int64_t until;

	CHECK_EQ(truth_held(NULL, 0, "parent"), 64 * MIB);
	client_kill(&c, SIGKILL);
	CHECK_EQ(waitpid(c.pid, NULL, 0), c.pid);
	CHECK_EQ(truth_held(NULL, 0, "parent"), 64 * MIB);
	client_say(&c, "go"); /* the child inherited its standard input */
	close(c.to);
	until = now_ms() + DEADLINE_MS;
	while (truth_held(NULL, 0, "parent") && now_ms() < until)
		usleep(1000);
	CHECK_EQ(truth_held(NULL, 0, "parent"), 0);
	CHECK_EQ(truth_max(NULL, 0, "parent"), 64 * MIB);
	close(c.from);
	if (*how != 'x' && *how != 'g')
		kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	one_card("24G");
	round_of("x"); /* the child ends */
	round_of("e"); /* the child executes another program */
	round_of("c"); /* the child closes its files */
	round_of("g"); /* a grandchild ends */
	return 0;
}
