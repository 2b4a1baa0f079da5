/*
 * While one thread starts the driver, another closes all descriptors that it does not know, as
 * daemons do, and opens its own: what is kept for the hold locks meanwhile is the program's then,
 * and is neither closed nor taken.
 */
#include "client.h"

#include <pthread.h>
#include <sys/stat.h>

#define MOST 256

static bool own[MOST];

static bool kept(int file)
{
	const int flags = fcntl(file, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

static void *take_all(void *unused)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	unsigned count = 0;

	CHECK_SYS(file);
	while (!count) {
		if (now_ms() > until)
			FAIL("no descriptor was seen to be kept");
		for (int i = 3; i < MOST; i++) {
			own[i] = kept(i);
			count += own[i];
		}
		usleep(1000);
	}
	usleep(10000); /* all are there by now; the driver is far from started */
	for (int i = 3; i < MOST; i++) {
		own[i] |= kept(i);
		if (own[i])
			CHECK_SYS(dup3(file, i, O_CLOEXEC));
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *const env[] = {"SIMGPU_DEVICES=24G,16G", "CUQUOTA_MEMORY_LIMIT=2G",
				   "SIMGPU_DELAY=cuInit:1s", NULL};
	pthread_t thread;
	struct stat zero, now;

	start_capped(argv, env);
	CHECK_SYS(stat("/dev/zero", &zero));
	CHECK_EQ(pthread_create(&thread, NULL, take_all, NULL), 0);
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	for (int i = 3; i < MOST; i++) {
		if (!own[i])
			continue;
		if (fstat(i, &now) || now.st_rdev != zero.st_rdev)
			FAIL("descriptor %d is no longer the program's", i);
	}
	return 0;
}
