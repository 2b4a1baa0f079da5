/*
 * Threads that ask together get the same settings and one line for a refused value; a forked child has them too.
 */
#include "helper.h"
#include "base/settings.h"

#include <pthread.h>

#define THREADS 12

static pthread_barrier_t barrier;

static void *ask(void *arg)
{
	pthread_barrier_wait(&barrier);
	return (void *)settings_get();
}

static int child(void *arg)
{
	return settings_get()->refused ? 0 : 1;
}

int main(void)
{
	pthread_t thread[THREADS];
	const void *got[THREADS];
	struct client client;
	char text[8192];
	int pipes[2], saved, status;
	ssize_t length;

	setenv("CUQUOTA_MEMORY_LIMIT", "4X", 1);
	CHECK_SYS(pipe2(pipes, O_NONBLOCK | O_CLOEXEC));
	saved = dup(2);
	dup2(pipes[1], 2);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, ask, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], (void **)&got[i]);
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
	CHECK_SYS(waitpid(client.pid, &status, 0));
	CHECK_EQ(status, 0);
	return 0;
}
