/*
 * A process may have blocks of more sizes than there are labels: each comes back with its own, and
 * a new place in the ledger is given to all of them.
 */
#include "helper.h"
#include "policy/block.h"

#define BLOCKS 70000u
#define PLACE ((uint64_t)2 << 20)

static uint64_t adopted;

static struct block block(uint32_t i)
{
	return (struct block){.pointer = (i + 1) * PLACE,
			      .units = i + 1,
			      .context = 3,
			      .device = 5,
			      .family = 2,
			      .seat = 7};
}

static void adopt(uint8_t device, uint32_t units)
{
	CHECK_EQ(device, 5);
	adopted += units;
}

static void enter_all(void)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct block one = block(i);

		CHECK_EQ(block_add(&one, block_epoch()), 0);
	}
	CHECK_EQ(block_count(), (uint64_t)BLOCKS);
}

static void take_all(uint8_t seat)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct block want = block(i);
		struct block taken;

		CHECK(block_take(want.pointer, &taken));
		CHECK_EQ(taken.units, want.units);
		CHECK_EQ(taken.context, want.context);
		CHECK_EQ(taken.device, want.device);
		CHECK_EQ(taken.family, want.family);
		CHECK_EQ(taken.seat, seat);
	}
	CHECK_EQ(block_count(), (uint64_t)0);
}

int main(void)
{
	CHECK_EQ(block_start(), 0);
	enter_all();
	take_all(7);
	enter_all();
	block_epoch_raise();
	block_adopt(5, 8, adopt);
	CHECK_EQ(adopted, (uint64_t)BLOCKS * (BLOCKS + 1) / 2);
	take_all(8);
	/* Labels that say another place now are not found for the old one. */
	enter_all();
	take_all(7);
	return 0;
}
