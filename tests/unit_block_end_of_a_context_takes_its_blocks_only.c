/* Of blocks of three contexts in one table exactly those of the one that ended are
 * handed back, each once. */
#include "helper.h"
#include "policy/block.h"

#define BLOCKS 30000

static uint64_t units, smalls;

/*
 * Every other one at the begin of a place of the map; the others scattered, so that runs form and
 * deletions move what is behind them.
 */
static uint64_t address(uint64_t i)
{
	if (i % 2)
		return i << 21 | 1ull << 50;
	i = i * 0xbf58476d1ce4e5b9ull;
	return (i ^ i >> 29) >> 16 << 9 | 1ull << 8;
}

static void whole(const struct block *block)
{
	CHECK_EQ(block->context, 2u);
	CHECK_EQ(block->pointer, address(block->units));
	units += block->units;
}

static void small(const struct block *block)
{
	CHECK_EQ(block->context, 2u);
	CHECK_EQ(block->kind, BLOCK_SMALL);
	smalls++;
}

int main(void)
{
	struct block taken;
	uint64_t want = 0, want_small = 0;

	CHECK_EQ(block_start(), 0);
	for (uint32_t i = 1; i <= BLOCKS; i++) {
		const struct block block = {.pointer = address(i),
					    .units = i % 5 ? i : 0,
					    .context = 1 + i % 3,
					    .kind = i % 5 ? BLOCK_WHOLE : BLOCK_SMALL};

		CHECK_EQ(block_add(&block, block_epoch()), 0);
		if (i % 3 == 1) {
			want += block.units;
			want_small += i % 5 == 0;
		}
	}
	block_drop_context(2, whole, small);
	CHECK_EQ(units, want);
	CHECK_EQ(smalls, want_small);
	CHECK_EQ(block_count(), (uint64_t)(BLOCKS / 3 * 2));
	for (uint32_t i = 1; i <= BLOCKS; i++)
		CHECK_EQ(block_take(address(i), &taken), i % 3 != 1);
	return 0;
}
