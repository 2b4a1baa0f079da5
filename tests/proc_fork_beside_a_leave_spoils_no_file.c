/*
 * While one thread forks another gives its place up, and the program opens a file, which gets the
 * number that the hold had. What the fork does for the hold must not touch that file.
 */
#include "proc_helper.h"

#include <pthread.h>

#define WAIT_MS 100 /* for the other thread, which may have to wait for the fork's end */

static struct self *own;
static pid_t parent;
static int hold, program;
static uint32_t looked, opened;

static void *leave(void *unused)
{
	while (!__atomic_load_n(&looked, __ATOMIC_SEQ_CST))
		sched_yield();
	member_leave(own->member);
	program = fcntl(memfd_create("program", 0), F_DUPFD, hold);
	__atomic_store_n(&opened, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void in_between(const char *name)
{
	if (strcmp(name, "heir.looked") != 0 || getpid() != parent)
		return;
	__atomic_store_n(&looked, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < WAIT_MS && !__atomic_load_n(&opened, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
}

static void fork_meanwhile(struct self *self, const struct order *o, struct answer *a)
{
	char target[64] = "", path[64];
	pthread_t thread;
	pid_t pid;

	own = self;
	parent = getpid();
	hold = self->member->life.hold;
	point_each = in_between;
	CHECK_EQ(pthread_create(&thread, NULL, leave, NULL), 0);
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK_SYS(pid);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	point_each = NULL;
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(looked);
	CHECK_EQ(program, hold);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
	CHECK_SYS(readlink(path, target, sizeof(target) - 1));
	a->rc = strstr(target, "memfd:program") ? 0 : -EBADF;
	snprintf(a->why, sizeof(a->why), "%s", target);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_meanwhile};
	const struct order call = {.op = OP_CALL};
	struct answer a;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 20);
	a = worker_do(worker_joined("a", BYTES(GIB), 0), &call);
	if (a.rc)
		FAIL("the program's file is now %s", a.why);
	return 0;
}
