/*
 * Two blocks at one address, as when a free is accepted and not yet noted while another thread is
 * given the address: the older goes first, wherever deletions and growth have moved them.
 */
#include "helper.h"
#include "policy/block.h"

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

int main(void)
{
	struct block block;

	CHECK_EQ(block_start(), 0);
	CHECK(!block_take(4096, &block));
	/* Around the pairs enough others that shards grow twice and runs are long. */
	for (uint64_t i = 1; i <= 40000; i++) {
		add(i << 21, (uint32_t)i);
		if (i % 16 == 0)
			add(i << 21, (uint32_t)i + 1000000);
	}
	CHECK_EQ(block_count(), (uint64_t)42500);
	for (uint64_t i = 3; i <= 40000; i += 3)
		take(i << 21, (uint32_t)i);
	for (uint64_t i = 1; i <= 40000; i++) {
		if (i % 3)
			take(i << 21, (uint32_t)i);
		if (i % 16 == 0)
			take(i << 21, (uint32_t)i + 1000000);
		CHECK(!block_take(i << 21, &block));
	}
	CHECK_EQ(block_count(), (uint64_t)0);
	return 0;
}
