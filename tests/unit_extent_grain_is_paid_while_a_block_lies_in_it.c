/*
 * Small blocks: the first in a grain takes a token, the others none; without one nothing is
 * entered; the last to leave gives the payment back, or leaves it where the driver keeps the grain,
 * for the next block there.
 */
#include "helper.h"
#include "policy/extent_index.h"

#define GRAIN (2ull << 20)
#define AT (0x7f0000000000ull)

static unsigned given;
static bool keep;

static void give(const struct extent_paid *paid)
{
	CHECK_EQ(paid->device, 1);
	given++;
}

static bool keeps(uint8_t device)
{
	CHECK_EQ(device, 1);
	return keep;
}

static int enter(uint64_t pointer, size_t bytes, uint32_t context, unsigned tokens)
{
	const struct extent_paid paid = {.device = 1, .seat = 1, .context = context};

	return extent_enter(pointer, bytes, &paid, 0, tokens, block_epoch());
}

static void leave(uint64_t pointer)
{
	struct block block;

	if (extent_leave(pointer, true))
		return;
	CHECK(block_take(pointer, &block));
	extent_leave_entry(&block, false);
}

static void alone(void)
{
	CHECK_EQ(enter(AT, 1000, 1, 0), -EDQUOT);
	CHECK(!extent_leave(AT, true));
	CHECK_EQ(enter(AT, 1000, 1, 1), 0);
	CHECK_EQ(enter(AT + 1024, 1000, 1, 1), 1);
	CHECK_EQ(enter(AT + GRAIN - 256, 256, 1, 2), 2);
	CHECK_EQ(enter(AT + GRAIN, 256, 1, 2), 1);
	CHECK(!extent_leave(AT + 512, true));
	leave(AT);
	leave(AT + GRAIN - 256);
	CHECK_EQ(given, 0u);
	leave(AT + 1024);
	CHECK_EQ(given, 1u);
	leave(AT + GRAIN);
	CHECK_EQ(given, 2u);
	CHECK_EQ(enter(AT, 1000, 1, 0), -EDQUOT);
}

static void across(void)
{
	given = 0;
	CHECK_EQ(enter(AT + GRAIN - 4096, 1500000, 1, 1), -EDQUOT);
	CHECK_EQ(enter(AT + GRAIN - 4096, 1500000, 1, 2), 0);
	CHECK_EQ(enter(AT, 1000, 1, 1), 1);
	CHECK_EQ(enter(AT + 2 * GRAIN - 512, 512, 1, 1), 1);
	leave(AT + GRAIN - 4096);
	CHECK_EQ(given, 0u);
	leave(AT);
	CHECK_EQ(given, 1u);
	leave(AT + 2 * GRAIN - 512);
	CHECK_EQ(given, 2u);
}

/* An address that another thread was given while its free is still in progress. */
static void twice(void)
{
	given = 0;
	CHECK_EQ(enter(AT, 1000, 1, 1), 0);
	CHECK_EQ(enter(AT, 1000, 1, 1), 1);
	leave(AT);
	CHECK_EQ(given, 0u);
	leave(AT);
	CHECK_EQ(given, 1u);
	CHECK_EQ(block_count(), (uint64_t)0);
}

static void kept(void)
{
	struct extent_paid paid;

	given = 0;
	keep = true;
	CHECK_EQ(enter(AT, 1000, 1, 1), 0);
	leave(AT);
	CHECK_EQ(given, 0u);
	CHECK_EQ(extent_idle(1), 1u);
	CHECK_EQ(enter(AT + 8192, 1000, 1, 0), 0);
	CHECK_EQ(extent_idle(1), 0u);
	leave(AT + 8192);
	CHECK(!extent_reclaim(0, 0, &paid));
	CHECK(!extent_reclaim(1, 7, &paid));
	CHECK(extent_reclaim(1, 1, &paid));
	CHECK_EQ(extent_idle(1), 0u);
	CHECK(!extent_reclaim(1, 1, &paid));
	CHECK_EQ(enter(AT, 1000, 1, 0), -EDQUOT);
	keep = false;
}

static void drop_small(const struct block *block)
{
	extent_leave_entry(block, true);
}

static void drop_whole(const struct block *block)
{
	FAIL("a whole block at %#llx", (unsigned long long)block->pointer);
}

/* The end of a context takes its own blocks, and the grain only if nobody else's lie there. */
static void ended(void)
{
	given = 0;
	for (unsigned i = 0; i < 100; i++)
		CHECK_GE(enter(AT + i * 4096, 4096, 1, 1), 0);
	CHECK_EQ(enter(AT + 500000, 100, 2, 1), 1);
	extent_drop_context(1);
	block_drop_context(1, drop_whole, drop_small);
	CHECK_EQ(given, 0u);
	CHECK(!extent_leave(AT, true));
	extent_drop_context(2);
	block_drop_context(2, drop_whole, drop_small);
	CHECK_EQ(given, 1u);
	CHECK_EQ(block_count(), (uint64_t)0);
}

/* Blocks that begin with pages, and then between them: each is found where it begins, once. */
static void between(void)
{
	const unsigned pages = (unsigned)(GRAIN / 4096);

	given = 0;
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < pages; i += 1 + i % 3)
			CHECK_GE(enter(AT + i * 4096, 512, 1, 1), 0);
		for (unsigned i = 1; i < pages; i += 2)
			CHECK_EQ(enter(AT + i * 4096 + i % 15 * 256 + 256, 256, 1, 1), 1);
		CHECK_EQ(block_count(), (uint64_t)0);
		for (unsigned i = 0; i < pages * 16; i++) {
			const unsigned page = i / 16, step = i % 16;
			bool want = page % 2 && step == page % 15 + 1;

			for (unsigned n = 0; !step && n <= page; n += 1 + n % 3)
				want |= n == page;
			CHECK_EQ(extent_leave(AT + i * 256, true), want);
		}
		CHECK_EQ(given, 1u + (unsigned)round);
	}
}

int main(void)
{
	CHECK_EQ(block_start(), 0);
	CHECK_EQ(extent_start(GRAIN, give, keeps), 0);
	alone();
	between();
	across();
	twice();
	kept();
	ended();
	return 0;
}
