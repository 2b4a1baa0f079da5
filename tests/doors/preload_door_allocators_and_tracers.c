/* With a malloc replacement before us, behind us, and with a tracer as well, a program whose
 * sixteen threads allocate before main starts 200 times without a hang, and the hooks are found.
 * Until the driver is started we have not called malloc at all; and from then on it may look up
 * whatever it likes whenever we do.
 * report: DL-04
 * timeout: 120 */
#include "doors/door.h"

#include <pthread.h>

static pthread_t threads[16];

static void *allocate(void *arg)
{
	for (int turn = 0; turn < 20; turn++) {
		char *const block = malloc(100 + turn);

		if (!block || !dlsym(RTLD_NEXT, "malloc"))
			_exit(3);
		free(block);
	}
	return NULL;
}

__attribute__((constructor)) static void before_main(int argc, char **argv)
{
	if (argc < 2)
		return;
	for (int i = 0; i < 16; i++)
		if (pthread_create(&threads[i], NULL, allocate, NULL))
			_exit(4);
}

static void *find(const char *symbol)
{
	return dlsym(opened("libcuda.so.1", RTLD_NOW), symbol);
}

static void client(void)
{
	void **const callers = dlsym(RTLD_DEFAULT, "malloc_callers");
	const unsigned *const calls = dlsym(RTLD_DEFAULT, "malloc_calls");
	int *const looks = dlsym(RTLD_DEFAULT, "malloc_looks");

	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	CHECK(is_hook(find("cuGetProcAddress_v2")));
	CHECK(callers && calls && looks);
	CHECK_GE(*calls, 320u);
	CHECK_LE(*calls, 8192u);
	for (unsigned i = 0; i < *calls; i++)
		if (is_hook(callers[i]))
			FAIL("we called malloc from %p while the program started", callers[i]);
	__atomic_store_n(looks, 1, __ATOMIC_RELAXED);
	sees_the_cap(find);
}

int main(int argc, char **argv)
{
	const char *const again[] = {"/proc/self/exe", "client", NULL};
	char preload[4][3 * PATH_MAX];

	if (argc == 2) {
		client();
		return 0;
	}
	if (getenv("TEST_SANITIZER"))
		SKIP("a sanitizer is a malloc replacement of its own");
	for (int i = 0; i < 4; i++) {
		static const char *const first[] = {"tests/doors/malloc.so", "libcuquota.so",
						    "tests/doors/tracer.so", "libcuquota.so"};
		static const char *const second[] = {"libcuquota.so", "tests/doors/malloc.so",
						     "libcuquota.so", "tests/doors/tracer.so"};

		snprintf(preload[i], sizeof(preload[i]), "LD_PRELOAD=%s:%s%s%s", built(first[i]),
			 built(second[i]), i > 1 ? ":" : "",
			 i > 1 ? built("tests/doors/malloc.so") : "");
	}
	for (int turn = 0; turn < (test_long() ? 800 : 200); turn++) {
		const char *const env[] = {preload[turn % 4], "CUQUOTA_MEMORY_LIMIT=8G",
					   "CUQUOTA_LOG=off", "SIMGPU_DEVICES=24G", NULL};
		struct client c = client_start(again, env);
		const int status = client_wait(&c, DEADLINE_MS);

		if (status)
			FAIL("start %d under %s ended with %d", turn, preload[turn % 4], status);
	}
	return 0;
}
