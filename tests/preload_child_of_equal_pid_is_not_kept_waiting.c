/*
 * A child that is forked while another thread is inside cuInit under a visible list, and is PID 1
 * as its parent is, does not wait for the thread that it does not have.
 */
#include "client.h"
#include "equal_pid.h"

#include <pthread.h>

static CUresult (*init)(unsigned);
static int inside[2];

static void *start(void *arg)
{
	CHECK_EQ(write(inside[1], "", 1), 1);
	CHECK_EQ(init(0), CUDA_SUCCESS);
	return arg;
}

static int parent(void)
{
	pthread_t thread;
	pid_t child;
	char byte;

	init = CU(cuInit);
	CHECK_SYS(pipe(inside));
	CHECK_EQ(pthread_create(&thread, NULL, start, NULL), 0);
	CHECK_EQ(read(inside[0], &byte, 1), 1);
	usleep(100000); /* of the 500 ms that cuInit takes */
	child = clone_as_first(0);
	if (!child) {
		init(0); /* any answer will do */
		_exit(getpid() != 1);
	}
	CHECK_EQ(status_within(child, DEADLINE_MS / 2, "child"), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=0", "SIMGPU_DEVICES=24G,24G",
					  "SIMGPU_DELAY=cuInit:500ms", NULL};

	start_capped(argv, env);
	CHECK_EQ(run_as_first(parent), 0);
	return argc < 1;
}
