/*
 * A child that is forked in the middle of its parent's parses, and is PID 1 as its parent is, waits
 * for none of the threads that it does not have.
 */
#include "equal_pid.h"
#include "base/settings.h"

#include <pthread.h>

#define THREADS 12
#define FILLER 400000
#define ROUNDS 10

static pthread_barrier_t barrier;

/* So large that a parse takes longer than a thread needs to be woken. */
static void fill_environment(void)
{
	static char filler[] = "CUQUOTA_TEST_FILLER=1", limit[] = "CUQUOTA_MEMORY_LIMIT=4G";
	static char *entries[FILLER + 2];

	for (unsigned i = 0; i < FILLER; i++)
		entries[i] = filler;
	entries[FILLER] = limit;
	environ = entries;
}

static void *ask(void *arg)
{
	pthread_barrier_wait(&barrier);
	CHECK(!settings_get()->refused);
	return arg;
}

static int parent(void)
{
	pthread_t thread[THREADS];
	pid_t child;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, ask, NULL), 0);
	pthread_barrier_wait(&barrier);
	usleep(2000);
	child = clone_as_first(0);
	if (!child)
		_exit(getpid() != 1 || settings_get()->refused);
	/* Waiting for the lost ones takes 2 s, and then everything is refused. */
	CHECK_EQ(status_within(child, DEADLINE_MS, "child"), 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	return 0;
}

int main(void)
{
	fill_environment();
	/* Whether a fork meets a parse is the scheduler's choice. */
	for (unsigned i = 0; i < ROUNDS; i++)
		CHECK_EQ(run_as_first(parent), 0);
	return 0;
}
