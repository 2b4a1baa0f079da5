/*
 * While the driver starts, CUDA_VISIBLE_DEVICES is exchanged; afterwards the environment is what it
 * was, and what other threads set, changed and removed meanwhile is what they made it.
 */
#include "client.h"

#include <pthread.h>

static char **copy_environment(void)
{
	size_t n = 0;
	char **copy;

	while (environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = strdup(environ[i]);
	return copy;
}

static void same_environment(char **before)
{
	size_t i;

	for (i = 0; before[i] && environ[i]; i++)
		CHECK_STR(environ[i], before[i]);
	CHECK_STR(environ[i] ? environ[i] : "the end", before[i] ? before[i] : "the end");
}

static void *init(void *rc)
{
	*(CUresult *)rc = CU(cuInit)(0);
	return NULL;
}

/* Until the driver sees the exchanged value. */
static void wait_for_exchange(const char *before)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	const char *now;

	do {
		now = getenv("CUDA_VISIBLE_DEVICES");
		if (now_ms() > until)
			FAIL("CUDA_VISIBLE_DEVICES was never exchanged");
		usleep(200);
	} while (!now || (before && !strcmp(now, before)));
	CHECK(!strncmp(now, "GPU-", 4));
}

/* Mode: p(resent) or a(bsent); then what is done meanwhile: n(othing), s(et), o(wn variable). */
static int child(const char *mode)
{
	const char *const before = *mode == 'p' ? "0" : NULL;
	char **snapshot;
	pthread_t thread;
	CUresult rc = -1;

	setenv("KEPT", "1", 1);
	setenv("REMOVED", "1", 1);
	setenv("CHANGED", "old", 1);
	if (before)
		setenv("CUDA_VISIBLE_DEVICES", before, 1);
	else
		unsetenv("CUDA_VISIBLE_DEVICES");
	snapshot = copy_environment();
	CHECK_EQ(pthread_create(&thread, NULL, init, &rc), 0);
	if (mode[1] != 'n') {
		wait_for_exchange(before);
		setenv("CHANGED", "new", 1);
		unsetenv("REMOVED");
		for (int i = 0; i < 100; i++) {
			char added[32];

			sprintf(added, "ADDED_%d", i);
			setenv(added, "1", 1);
		}
		if (mode[1] == 'o')
			setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(rc, CUDA_SUCCESS);
	if (mode[1] == 'n') {
		same_environment(snapshot);
	} else {
		const char *const want = mode[1] == 'o' ? "1" : before;
		const char *const now = getenv("CUDA_VISIBLE_DEVICES");

		CHECK_STR(now ? now : "absent", want ? want : "absent");
		CHECK_STR(getenv("KEPT"), "1");
		CHECK_STR(getenv("CHANGED"), "new");
		CHECK(!getenv("REMOVED"));
		CHECK_STR(getenv("ADDED_0"), "1");
		CHECK_STR(getenv("ADDED_99"), "1");
	}
	snapshot = copy_environment();
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	same_environment(snapshot);
	return 0;
}

static volatile bool stop;

static void *churn(void *arg)
{
	for (unsigned i = 0; !stop; i++) {
		setenv(arg, i % 2 ? "odd" : "even", 1);
		CHECK(getenv(arg));
	}
	setenv(arg, "done", 1);
	return NULL;
}

/*
 * Threads that set and read without pause; each start of the driver fails, so that the
 * next exchanges again. They set what is there already: beside one that adds, libc lets
 * nobody read the environment.
 */
static int race(const char *value)
{
	static char names[2][8] = {"FIRST", "SECOND"};
	pthread_t thread[2];
	char *here;

	if (value)
		setenv("CUDA_VISIBLE_DEVICES", value, 1);
	for (int i = 0; i < 2; i++)
		setenv(names[i], "begin", 1);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, churn, names[i]), 0);
	for (int i = 0; i < 2000; i++)
		CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_NO_DEVICE);
	stop = true;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_STR(getenv(names[i]), "done");
	here = getenv("CUDA_VISIBLE_DEVICES");
	CHECK_STR(here ? here : "absent", value ? value : "absent");
	return 0;
}

static void run(const char *mode, const char *fault)
{
	const char *const argv[] = {"/proc/self/exe", mode, NULL};
	const char *const env[] = {"CUQUOTA_VISIBLE_DEVICES=1,0", "SIMGPU_DEVICES=24G,16G,8G",
				   fault, "CUDA_VISIBLE_DEVICES", NULL};
	struct client c = client_capped(argv, env);
	const int status = client_wait(&c, DEADLINE_MS);

	if (status)
		FAIL("mode %s ended with %d", mode, status);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "race"))
		return race(NULL);
	if (argc > 1 && !strcmp(argv[1], "race0"))
		return race("0");
	if (argc > 1)
		return child(argv[1]);
	run("pn", "SIMGPU_DELAY=");
	run("an", "SIMGPU_DELAY=");
	run("ps", "SIMGPU_DELAY=cuInit:300ms");
	run("as", "SIMGPU_DELAY=cuInit:300ms");
	run("po", "SIMGPU_DELAY=cuInit:300ms");
	run("ao", "SIMGPU_DELAY=cuInit:300ms");
	run("race", "SIMGPU_FAULT=cuInit@*:100");
	run("race0", "SIMGPU_FAULT=cuInit@*:100");
	return 0;
}
