/*
 * A child that is forked while another thread rewrites the driver's symbol table, and is PID 1 as
 * its parent is, does not take that thread for its own: it rewrites the table itself. Our own
 * mprotect keeps the thread in the middle.
 */
#include "doors/door.h"
#include "equal_pid.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

static bool watching;
static sem_t inside, released;

#pragma GCC visibility push(default)
int mprotect(void *address, size_t bytes, int protection)
{
	const long rc = syscall(SYS_mprotect, address, bytes, protection);
	bool once = true;

	if (protection & PROT_WRITE &&
	    __atomic_compare_exchange_n(&watching, &once, false, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		sem_post(&inside);
		sem_wait(&released);
	}
	return (int)rc;
}
#pragma GCC visibility pop

static void *open_driver(void *arg)
{
	opened("libcuda.so.1", RTLD_NOW);
	return arg;
}

static int in_child(void)
{
	struct link_map *map;

	if (getpid() != 1)
		return 1;
	if (dlinfo(opened("libcuda.so.1", RTLD_NOW), RTLD_DI_LINKMAP, &map))
		return 2;
	return is_hook(walk(map, "cuMemAlloc_v2")) ? 0 : 3;
}

static int parent(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	CHECK_EQ(sem_init(&inside, 0, 0), 0);
	CHECK_EQ(sem_init(&released, 0, 0), 0);
	__atomic_store_n(&watching, true, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_create(&thread, NULL, open_driver, NULL), 0);
	CHECK_EQ(sem_wait(&inside), 0);
	child = clone_as_first(0);
	if (!child)
		_exit(in_child());
	status = status_within(child, DEADLINE_MS / 2, "child");
	sem_post(&released);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(status, 0);
	return 0;
}

static void client(void)
{
	CHECK_EQ(run_as_first(parent), 0);
}

DOOR_TEST(client)
