/* A look-up of somebody else's name by RTLD_NEXT, again and again from eight threads, is what it is
 * without us. report: CR-05 */
#include "doors/door.h"

#include <pthread.h>

#define THREADS 8
#define TURNS 10000

static const char *const names[] = {"open", "malloc", "pthread_create",
				    "cudaMalloc", "cuquotaNone", "dl_iterate_phdr"};
#define NAMES (sizeof(names) / sizeof(*names))

static void *look(void *arg)
{
	void *const *const want = arg;

	for (int turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < NAMES; i++) {
			void *const found = dlsym(RTLD_NEXT, names[i]);

			if (found != want[i])
				FAIL("%s in turn %d is %p, want %p", names[i], turn, found,
				     want[i]);
		}
	return NULL;
}

/* Addresses differ from run to run; where they lie in their file does not. */
static void print_places(void *const *found)
{
	for (size_t i = 0; i < NAMES; i++) {
		Dl_info info;

		if (!found[i])
			printf("%s none; ", names[i]);
		else if (dladdr(found[i], &info))
			printf("%s %s+%lx; ", names[i], info.dli_fname,
			       (long)found[i] - (long)info.dli_fbase);
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *const again[] = {"/proc/self/exe", "client", NULL};
	char *bare;
	struct client c;

	if (argc == 2) {
		pthread_t threads[THREADS];
		void *want[NAMES];

		for (size_t i = 0; i < NAMES; i++)
			want[i] = dlsym(RTLD_NEXT, names[i]);
		CHECK(want[0] && want[1] && want[2]);
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, look, want), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		print_places(want);
		return 0;
	}
	c = client_start(again, NULL);
	bare = strdup(client_line(&c, DEADLINE_MS));
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_capped(again, NULL);
	CLIENT_SAYS(&c, bare);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return 0;
}
