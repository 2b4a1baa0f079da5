/*
 * For tests of what is told apart by process ids and must not be: a process and its child that are
 * both PID 1, each in a PID namespace of its own. Owns: the clones; kills what outlives its time.
 */
#ifndef TESTS_EQUAL_PID_H
#define TESTS_EQUAL_PID_H

#include "helper.h"

#include <sched.h>
#include <sys/syscall.h>

/* fork into a new PID namespace, also beside other threads; -1 where that is not allowed. */
TEST_USED static pid_t clone_as_first(unsigned long more)
{
	return (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD | more, 0, 0, 0, 0);
}

/* The exit status of a child within ms; it is killed after that, and the test fails. */
TEST_USED static int status_within(pid_t child, int ms, const char *what)
{
	struct client c = {.pid = child, .to = -1};

	if (child < 0)
		FAIL("%s: %s", what, strerror(errno));
	return client_wait(&c, ms);
}

/* Runs `body` as PID 1, from where clone_as_first(0) makes another one. Its exit status. */
TEST_USED static int run_as_first(int (*body)(void))
{
	const unsigned long more = geteuid() ? CLONE_NEWUSER : 0;
	const pid_t child = clone_as_first(more);

	if (child < 0)
		SKIP("neither root nor user namespaces");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getpid() != 1)
			_exit(1);
		exit(body());
	}
	return status_within(child, DEADLINE_MS, "PID 1");
}

#endif
