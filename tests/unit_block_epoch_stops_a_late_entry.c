/* Once the epoch is raised nothing of an older one is entered, so that whoever raised
 * it finds all there is. */
#include "helper.h"
#include "policy/block.h"

int main(void)
{
	const struct block block = {.pointer = 1 << 21, .units = 32};
	struct block taken;
	uint64_t epoch;

	CHECK_EQ(block_start(), 0);
	epoch = block_epoch();
	CHECK_EQ(block_add(&block, epoch), 0);
	block_epoch_raise();
	CHECK_EQ(block_add(&block, epoch), -EAGAIN);
	CHECK_EQ(block_count(), (uint64_t)1);
	CHECK_EQ(block_add(&block, block_epoch()), 0);
	CHECK(block_take(block.pointer, &taken));
	CHECK(block_take(block.pointer, &taken));
	CHECK(!block_take(block.pointer, &taken));
	return 0;
}
