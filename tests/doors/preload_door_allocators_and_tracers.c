/* With a malloc replacement before us, behind us, and with a tracer as well, a program whose sixteen threads allocate
 * before main starts 200 times without a hang, and the hooks are found.
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

int main(int argc, char **argv)
{
	const char *const again[] = {"/proc/self/exe", "client", NULL};
	char preload[4][3 * PATH_MAX];

	if (argc == 2) {
		for (int i = 0; i < 16; i++)
			pthread_join(threads[i], NULL);
		CHECK(is_hook(dlsym(opened("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2")));
		return 0;
	}
	if (getenv("TEST_SANITIZER"))
		SKIP("a sanitizer is a malloc replacement of its own");
	for (int i = 0; i < 4; i++) {
		static const char *const first[] = {"tests/doors/malloc.so", "libcuquota.so", "tests/doors/tracer.so",
						    "libcuquota.so"};
		static const char *const second[] = {"libcuquota.so", "tests/doors/malloc.so", "libcuquota.so",
						     "tests/doors/tracer.so"};

		snprintf(preload[i], sizeof(preload[i]), "LD_PRELOAD=%s:%s%s%s", built(first[i]), built(second[i]),
			 i > 1 ? ":" : "",
			 i > 1 ? built("tests/doors/malloc.so") : "");
	}
	for (int turn = 0; turn < 200; turn++) {
		const char *const env[] = {preload[turn % 4], "CUQUOTA_MEMORY_LIMIT=8G", NULL};
		struct client c = client_start(again, env);
		const int status = client_wait(&c, DEADLINE_MS);

		if (status)
			FAIL("start %d under %s ended with %d", turn, preload[turn % 4], status);
	}
	return 0;
}
