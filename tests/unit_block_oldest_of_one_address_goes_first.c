/*
 * Two blocks at one address, as when a free is accepted and not yet noted while another thread is
 * given the address: the older goes first, wherever deletions and growth have moved them. Where the
 * first thread entered it before there was a second, too.
 */
#include "helper.h"
#include "policy/block.h"

#include <pthread.h>

#define EARLY 500 /* of the first thread alone, above all others */
#define LONE 64

static void add(uint64_t pointer, uint32_t units)
{
	const struct block block = {.pointer = pointer, .units = units, .context = 1};

	CHECK_EQ(block_add(&block, block_epoch()), 0);
}

static void take(uint64_t pointer, uint32_t units)
{
	struct block block;

	CHECK(block_take(pointer, &block));
	CHECK_EQ(block.pointer, pointer);
	CHECK_EQ(block.units, units);
}

/* With a second thread. */
static void *shared(void *unused)
{
	struct block block;

	CHECK(!block_take(4096, &block));
	for (uint64_t i = EARLY + 1; i <= EARLY + LONE; i++)
		take(i << 32, (uint32_t)i);
	for (uint64_t i = 1; i <= EARLY; i++) {
		take(i << 32, (uint32_t)i);
		add(i << 32, (uint32_t)i + 2000000);
		take(i << 32, (uint32_t)i + 1000000);
		take(i << 32, (uint32_t)i + 2000000);
	}
	/* Around the pairs enough others that shards grow twice and runs are long. */
	for (uint64_t i = 1; i <= 40000; i++) {
		add(i << 12, (uint32_t)i);
		if (i % 16 == 0)
			add(i << 12, (uint32_t)i + 1000000);
	}
	CHECK_EQ(block_count(), (uint64_t)42500);
	for (uint64_t i = 3; i <= 40000; i += 3)
		take(i << 12, (uint32_t)i);
	for (uint64_t i = 1; i <= 40000; i++) {
		if (i % 3)
			take(i << 12, (uint32_t)i);
		if (i % 16 == 0)
			take(i << 12, (uint32_t)i + 1000000);
		CHECK(!block_take(i << 12, &block));
	}
	CHECK_EQ(block_count(), (uint64_t)0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	struct block block;

	CHECK_EQ(block_start(), 0);
	for (uint64_t i = 1; i <= EARLY; i++) {
		add(i << 32, (uint32_t)i);
		add(i << 32, (uint32_t)i + 1000000);
		add((i << 32 | 1 << 20), 1);
		take((i << 32 | 1 << 20), 1);
		CHECK(!block_take((i << 32 | 1 << 20), &block));
	}
	for (uint64_t i = EARLY + 1; i <= EARLY + LONE; i++)
		add(i << 32, (uint32_t)i);
	CHECK_EQ(block_count(), (uint64_t)2 * EARLY + LONE);
	CHECK_EQ(pthread_create(&thread, NULL, shared, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	return 0;
}
