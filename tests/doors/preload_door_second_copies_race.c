/*
 * Two threads open a second copy of the driver at once. Each would take the hooked names out of its
 * symbol table, and make the pages read-only again; they must not do so at the same time, or one
 * writes where the other has just forbidden it. Our own mprotect keeps the first one waiting for
 * the second, for a while.
 */
#include "doors/door.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool watching;
static int inside, calls, overlaps; /* between making pages writable and read-only again */
static sem_t met;
static pthread_barrier_t together;

#pragma GCC visibility push(default)
int mprotect(void *address, size_t bytes, int protection)
{
	const long rc = syscall(SYS_mprotect, address, bytes, protection);
	struct timespec until;

	if (!__atomic_load_n(&watching, __ATOMIC_SEQ_CST))
		return (int)rc;
	if (!(protection & PROT_WRITE)) {
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		return (int)rc;
	}
	if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1) {
		__atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
		sem_post(&met);
	}
	if (!__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		sem_timedwait(&met, &until);
	}
	return (int)rc;
}
#pragma GCC visibility pop

static void *open_second(void *path)
{
	pthread_barrier_wait(&together);
	return opened(path, RTLD_NOW);
}

static void client(void)
{
	const char *const path = copy_of("simgpu/libcuda.so.1", "libcuda.so.1");
	struct link_map *map;
	pthread_t threads[2];
	void *second = NULL;

	opened("libcuda.so.1", RTLD_NOW);
	CHECK_EQ(sem_init(&met, 0, 0), 0);
	CHECK_EQ(pthread_barrier_init(&together, NULL, 2), 0);
	__atomic_store_n(&watching, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, open_second, (void *)(uintptr_t)path),
			 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(threads[i], &second), 0);
	__atomic_store_n(&watching, false, __ATOMIC_SEQ_CST);
	CHECK_GE(calls, 1);
	CHECK_EQ(overlaps, 0);
	CHECK_EQ(dlinfo(second, RTLD_DI_LINKMAP, &map), 0);
	CHECK(!walk(map, "cuMemAlloc_v2"));
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		client();
		return 0;
	}
	return again_capped(NULL);
}
