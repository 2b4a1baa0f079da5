/*
 * Blocks of every kind, at the begin of a place or anywhere, side by side and far apart, are taken
 * with the figures that they were entered with, each once; a new place in the ledger is given to
 * those of its device, with their units.
 */
#include "helper.h"
#include "policy/block.h"

#define BLOCKS 20000u
#define PLACE ((uint64_t)2 << 20)

static uint64_t adopted[2];

static uint64_t mix(uint64_t i)
{
	i = (i ^ i >> 31) * 0xbf58476d1ce4e5b9ull;
	i = (i ^ i >> 29) * 0x94d049bb133111ebull;
	return i ^ i >> 32;
}

/* Of four one side by side from an odd place on, one 64 MiB apart, one far apart, one inside a
 * place. */
static uint64_t address(uint64_t i)
{
	switch (i % 4) {
	case 0:
		return (1ull << 46) + (i / 4 + 1) * PLACE;
	case 1:
		return (1ull << 47) + i / 4 * 32 * PLACE;
	case 2:
		return (1ull << 56) + (i / 4 << 34);
	default:
		return (1ull << 45) + ((mix(i) >> 44 << 16 | i) * 2 + 1) * 512;
	}
}

static struct block block(uint64_t i)
{
	const uint64_t figures = mix(i);
	const uint32_t most = i % 2 ? 0xffff : 0xfffffff; /* those that are adopted are summed */

	return (struct block){.pointer = address(i),
			      .units = i % 5 ? 1 + (uint32_t)figures % most : i % 2,
			      .context = (uint32_t)(figures >> 40) >> (i % 3 * 5),
			      .device = i % 2,
			      .family = i % 8,
			      .seat = figures >> 32 & 255,
			      .kind = i % 7 ? BLOCK_WHOLE : i % 3};
}

static void check(uint64_t i, bool moved)
{
	struct block want = block(i), taken;

	if (moved && want.device == 1)
		want.seat = 200;
	CHECK(block_take(want.pointer, &taken));
	CHECK_EQ(taken.pointer, want.pointer);
	CHECK_EQ(taken.units, want.units);
	CHECK_EQ(taken.context, want.context);
	CHECK_EQ(taken.device, want.device);
	CHECK_EQ(taken.family, want.family);
	CHECK_EQ(taken.seat, want.seat);
	CHECK_EQ(taken.kind, want.kind);
	CHECK(!block_take(want.pointer, &taken));
}

static void adopt(uint8_t device, uint32_t units)
{
	adopted[device] += units;
}

int main(void)
{
	struct block one = {.pointer = PLACE, .units = 1u << 28};
	uint64_t want = 0;

	CHECK_EQ(block_start(), 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		one = block(i);
		CHECK_EQ(block_add(&one, block_epoch()), 0);
		if (one.device == 1 && one.seat != 200 && i % 6)
			want += one.units;
	}
	CHECK_EQ(block_count(), (uint64_t)BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i += 6)
		check(i, false);
	block_epoch_raise();
	block_adopt(1, 200, adopt);
	CHECK_EQ(adopted[0], (uint64_t)0);
	CHECK_EQ(adopted[1], want);
	for (uint64_t i = BLOCKS; i-- > 0;)
		if (i % 6)
			check(i, true);
	CHECK_EQ(block_count(), (uint64_t)0);
	CHECK(!block_take(0, &one));
	CHECK(!block_take(UINT64_MAX & ~(PLACE - 1), &one));

	/* What neither holds is refused. */
	one = (struct block){.pointer = PLACE, .units = 1u << 28};
	CHECK_EQ(block_add(&one, block_epoch()), -ENOMEM);
	one = (struct block){.pointer = 1ull << 63, .units = 1};
	CHECK_EQ(block_add(&one, block_epoch()), -ENOMEM);
	CHECK_EQ(block_count(), (uint64_t)0);
	return 0;
}
