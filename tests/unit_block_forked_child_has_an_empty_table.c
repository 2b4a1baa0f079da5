/* A forked child finds the table empty, and usable even where another thread
 * held a shard at the fork. */
#include "helper.h"
#include "policy/block.h"

#include <pthread.h>

static int stop;

static void *churn(void *unused)
{
	struct block block = {.units = 1}, taken;

	for (uint64_t i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		block.pointer = 1ull << 40 | i % 5000 << 12;
		CHECK_EQ(block_add(&block, block_epoch()), 0);
		CHECK(block_take(block.pointer, &taken));
	}
	return unused;
}

int main(void)
{
	struct block block = {.pointer = 1 << 21, .units = 32}, taken;
	pthread_t thread;
	int status;

	CHECK_EQ(block_start(), 0);
	CHECK_EQ(block_add(&block, block_epoch()), 0);
	CHECK_EQ(pthread_create(&thread, NULL, churn, NULL), 0);
	for (int i = 0; i < 200; i++) {
		const pid_t pid = fork();

		CHECK_SYS(pid);
		if (!pid) {
			alarm(10);
			CHECK_EQ(block_start(), 0);
			CHECK_EQ(block_count(), (uint64_t)0);
			CHECK(!block_take(block.pointer, &taken));
			for (uint64_t n = 1; n <= 640; n++) {
				block.pointer = n << 21;
				CHECK_EQ(block_add(&block, block_epoch()), 0);
			}
			_exit(0);
		}
		CHECK_SYS(waitpid(pid, &status, 0));
		if (status)
			FAIL("child %d ended with %#x", i, status);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(block_take(1 << 21, &taken));
	return 0;
}
