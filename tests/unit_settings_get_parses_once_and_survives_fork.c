/*
 * Threads that ask together get the same settings and one line for a refused value; a
 * forked child has them too.
 */
#include "helper.h"
#include "base/settings.h"

#include <pthread.h>

#define THREADS 12
#define FILLER 50000
#define ROUNDS 10

static pthread_barrier_t barrier;

/* So large that a parse takes longer than a thread needs to be woken: those that ask
 * together parse together. */
static void fill_environment(void)
{
	static char *entries[FILLER + 64], filler[] = "CUQUOTA_TEST_FILLER=1";
	unsigned count = 0;

	for (char **entry = environ; *entry && count < 32; entry++)
		entries[count++] = *entry;
	while (count < FILLER)
		entries[count++] = filler;
	environ = entries;
}

static void *ask(void *arg)
{
	pthread_barrier_wait(&barrier);
	return (void *)(uintptr_t)settings_get();
}

static int child(void *arg)
{
	const int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(quiet, 2);
	return settings_get()->refused && settings_get()->notes ? 0 : 1;
}

/* In a process of its own, which has not asked before. */
static int once(void *arg)
{
	pthread_t thread[THREADS];
	void *got[THREADS];
	struct client client;
	char text[8192];
	int pipes[2], saved;
	ssize_t length;

	setenv("CUQUOTA_MEMORY_LIMIT", "4X", 1);
	CHECK_SYS(pipe2(pipes, O_NONBLOCK | O_CLOEXEC));
	saved = dup(2);
	dup2(pipes[1], 2);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, ask, NULL);
	/* This child has copies of parses that nobody will finish. */
	pthread_barrier_wait(&barrier);
	client = client_new(NULL, NULL, child, NULL);
	CHECK_EQ(client_wait(&client, 1500), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], &got[i]);
	dup2(saved, 2);
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK(got[i] != NULL);
		CHECK(got[i] == got[0]);
	}
	length = read(pipes[0], text, sizeof(text) - 1);
	CHECK_OP(length, >, (ssize_t)0);
	text[length] = '\0';
	CHECK(!strncmp(text, "cuquota: CUQUOTA_MEMORY_LIMIT=\"4X\" is refused at character 2", 59));
	CHECK(strchr(text, '\n') == text + length - 1);

	setenv("CUQUOTA_MEMORY_LIMIT", "4G", 1);
	CHECK(settings_get() == got[0]);
	client = client_new(NULL, NULL, child, NULL);
	CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
	return 0;
}

int main(void)
{
	fill_environment();
	/* whether a fork meets a parse is the scheduler's choice */
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct client client = client_fork(once, NULL);

		CHECK_EQ(client_wait(&client, DEADLINE_MS), 0);
	}
	return 0;
}
