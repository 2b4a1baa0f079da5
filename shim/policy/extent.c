/*
 * Grains shared by small blocks. See extent.h.
 *
 * Lock order: a shard of extents, then (for an entry) a shard of blocks. A block across two grains
 * takes both shards of extents, the lower first.
 */
#include "policy/extent_index.h"
#include "policy/room.h"

#include <cuquota/ledger.h>
#include <errno.h>

static void (*give)(const struct extent_paid *paid);
static bool (*keeps)(uint8_t device);
size_t extent_grain_bytes;

int extent_start(size_t grain_bytes, void (*to_give)(const struct extent_paid *paid),
		 bool (*to_keep)(uint8_t device))
{
	struct extent_index *index = wiped_once(&extent_memory, sizeof(struct extent_index));

	if (!index || room_start())
		return -ENOMEM;
	if (index->bytes)
		return 0;
	extent_grain_bytes = grain_bytes;
	give = to_give;
	keeps = to_keep;
	index->step = EXTENT_STEP;
	while (((grain_bytes - 1) >> index->step) >= EXTENT_STARTS)
		index->step++;
	index->coarse = index->step > EXTENT_COARSE ? index->step : EXTENT_COARSE;
	index->shift = grain_bytes & (grain_bytes - 1) ? 0 : (uint32_t)__builtin_ctzll(grain_bytes);
	__atomic_store_n(&index->bytes, grain_bytes, __ATOMIC_RELEASE);
	return 0;
}

/* `offset` is that of a block in its grain. Has it a bit of its own? */
static bool on_step(uint64_t offset, uint8_t step)
{
	return (offset & ((1ull << step) - 1)) == 0;
}

static bool start_is_set(const struct extent *extent, uint64_t offset)
{
	const uint64_t bit = offset >> extent->step;

	return on_step(offset, extent->step) && extent->starts[bit / 64] >> (bit % 64) & 1;
}

static void start_flip(struct extent *extent, uint64_t offset, bool set)
{
	uint64_t bit;

	if (__builtin_expect(!on_step(offset, extent->step), 0))
		extent_refine(extent);
	bit = offset >> extent->step;
	extent->starts[bit / 64] ^= 1ull << (bit % 64);
	extent->bits += set ? 1u : -1u;
}

static void lock_both(struct extent_shard *a, struct extent_shard *b)
{
	lock_take(a < b ? &a->lock : &b->lock);
	if (a != b)
		lock_take(a < b ? &b->lock : &a->lock);
}

static void unlock_both(struct extent_shard *a, struct extent_shard *b)
{
	lock_give(&a->lock);
	if (a != b)
		lock_give(&b->lock);
}

/* Does a block of `paid` need a token there? Also where another device's payment ends: its memory
 * is gone, or is going. */
static bool is_fresh(const struct extent *extent, const struct extent_paid *paid)
{
	return !extent || extent->paid.device != paid->device;
}

/* One block more. The shard is prepared, and a token is there if it is fresh. */
static struct extent *settle_in(struct extent_shard *shard, struct extent *extent, uint64_t base,
				const struct extent_paid *paid)
{
	if (!extent)
		extent = extent_make(shard, base, paid);
	else if (!extent->live)
		extent_count_idle(shard, extent, -1);
	if (extent->paid.device != paid->device) {
		give(&extent->paid);
		extent->paid = *paid;
		extent->paid.context = 0; /* whose bits are there is no longer known */
	}
	if (!extent->live)
		extent->paid.context = paid->context;
	extent_set_live(shard, extent, extent->live + 1);
	return extent;
}

/* One bit is enough, unless -EEXIST: another context's grain, or something starts there still. */
static int enter_bit(struct extent_shard *shard, uint64_t base, uint64_t offset,
		     const struct extent_paid *paid, unsigned tokens)
{
	struct extent *extent = extent_find(base);
	bool fresh;

	if (!on_step(offset, extent_index()->step))
		return -EEXIST;
	if (extent && extent->live) {
		if (extent->paid.context != paid->context || start_is_set(extent, offset))
			return -EEXIST;
		if (extent->paid.device == paid->device) {
			start_flip(extent, offset, true);
			extent_set_live(shard, extent, extent->live + 1);
			return (int)tokens;
		}
	}
	fresh = is_fresh(extent, paid);
	if (fresh && !tokens)
		return -EDQUOT;
	if (extent_prepare(shard, base))
		return -ENOMEM;
	extent = settle_in(shard, extent, base, paid);
	start_flip(extent, offset, true);
	return (int)(tokens - fresh);
}

static int enter_entry(uint64_t pointer, size_t bytes, const struct extent_paid *paid,
		       uint8_t family, unsigned tokens, uint64_t epoch)
{
	const uint64_t low = extent_base(pointer), high = extent_base(pointer + bytes - 1);
	struct extent_shard *const a = extent_shard(low), *const b = extent_shard(high);
	const struct block block = {.pointer = pointer,
				    .context = paid->context,
				    .device = paid->device,
				    .family = family,
				    .seat = paid->seat,
				    .kind = low == high ? BLOCK_SMALL : BLOCK_SMALL_ACROSS};
	unsigned fresh;
	int rc;

	lock_both(a, b);
	fresh = is_fresh(extent_find(low), paid);
	fresh += low != high && is_fresh(extent_find(high), paid);
	rc = fresh > tokens ? -EDQUOT : extent_prepare(a, low);
	if (!rc && low != high)
		rc = extent_prepare(b, high);
	if (!rc)
		rc = block_add(&block, epoch);
	if (!rc) {
		settle_in(a, extent_find(low), low, paid);
		if (low != high)
			settle_in(b, extent_find(high), high, paid);
		rc = (int)(tokens - fresh);
	}
	unlock_both(a, b);
	return rc;
}

int extent_enter(uint64_t pointer, size_t bytes, const struct extent_paid *paid, uint8_t family,
		 unsigned tokens, uint64_t epoch)
{
	const uint64_t base = extent_base(pointer);
	int rc = -EEXIST;

	if (!bytes)
		bytes = 1;
	if (pointer - base + bytes <= extent_index()->bytes) {
		struct extent_shard *const shard = extent_shard(base);

		lock_take(&shard->lock);
		rc = block_epoch() == epoch ? enter_bit(shard, base, pointer - base, paid, tokens)
					    : -EAGAIN;
		lock_give(&shard->lock);
	}
	return rc == -EEXIST ? enter_entry(pointer, bytes, paid, family, tokens, epoch) : rc;
}

/* One block fewer. */
static void leave(struct extent_shard *shard, struct extent *extent, bool ended)
{
	if (!extent->live)
		return;
	extent_set_live(shard, extent, extent->live - 1);
	if (__builtin_expect(extent->live, 1))
		return;
	if (!ended && keeps(extent->paid.device)) {
		extent_count_idle(shard, extent, 1);
		return;
	}
	give(&extent->paid);
	extent_remove(shard, extent);
}

bool extent_leave_grain(struct extent_shard *shard, uint64_t base, uint64_t pointer)
{
	struct extent *extent;
	bool found;

	lock_take(&shard->lock);
	extent = extent_find(base);
	found = extent && start_is_set(extent, pointer - base);
	if (found) {
		start_flip(extent, pointer - base, false);
		leave(shard, extent, false);
	}
	lock_give(&shard->lock);
	return found;
}

void extent_leave_entry(const struct block *block, bool ended)
{
	for (unsigned i = 0; i < (block->kind == BLOCK_SMALL_ACROSS ? 2u : 1u); i++) {
		const uint64_t base = extent_base(block->pointer) + i * extent_index()->bytes;
		struct extent_shard *const shard = extent_shard(base);
		struct extent *extent;

		lock_take(&shard->lock);
		extent = extent_find(base);
		if (extent)
			leave(shard, extent, ended);
		lock_give(&shard->lock);
	}
}

bool extent_is_last(uint64_t pointer, struct extent_paid *paid)
{
	const uint64_t base = extent_base(pointer);
	struct extent_shard *const shard = extent_shard(base);
	const struct extent *extent;
	bool last;

	lock_take(&shard->lock);
	extent = extent_find(base);
	last = extent && extent->live == 1 && start_is_set(extent, pointer - base);
	if (last)
		*paid = extent->paid;
	lock_give(&shard->lock);
	return last;
}

bool extent_reclaim(uint8_t device, uint32_t context, struct extent_paid *paid)
{
	bool found = false;

	for (uint32_t s = 0; s < EXTENT_SHARDS && !found && extent_idle(device); s++) {
		struct extent_shard *const shard = &extent_index()->shard[s];

		lock_take(&shard->lock);
		for (uint32_t i = 0; shard->idle && !found && i < shard->used; i++) {
			struct extent *const extent = shard->extent[i];

			if (extent->live || extent->paid.device != device ||
			    (context && extent->paid.context != context))
				continue;
			*paid = extent->paid;
			extent_count_idle(shard, extent, -1);
			extent_remove(shard, extent);
			found = true;
		}
		lock_give(&shard->lock);
	}
	return found;
}

void extent_drop_context(uint32_t context)
{
	for (uint32_t s = 0; s < EXTENT_SHARDS; s++) {
		struct extent_shard *const shard = &extent_index()->shard[s];

		lock_take(&shard->lock);
		for (uint32_t i = 0; i < shard->used;) {
			struct extent *const extent = shard->extent[i];

			if (extent->paid.context != context) {
				i++;
				continue;
			}
			if (!extent->live)
				extent_count_idle(shard, extent, -1);
			extent_set_live(shard, extent, extent->live - extent->bits);
			extent_clear(extent);
			if (extent->live) { /* entries of another context, or of this one that go
					       next */
				extent->paid.context = 0;
				i++;
				continue;
			}
			give(&extent->paid);
			extent_remove(shard, extent); /* another may be at i now: look again */
		}
		lock_give(&shard->lock);
	}
}

void extent_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	for (uint32_t s = 0; s < EXTENT_SHARDS; s++) {
		struct extent_shard *const shard = &extent_index()->shard[s];
		uint32_t count = 0;

		lock_take(&shard->lock);
		for (uint32_t i = 0; i < shard->used; i++) {
			struct extent *const extent = shard->extent[i];

			if (extent->paid.device != device || extent->paid.seat == seat)
				continue;
			extent->paid.seat = seat;
			count++;
		}
		adopt(device, count * (uint32_t)(extent_index()->bytes / CUQUOTA_UNIT));
		lock_give(&shard->lock);
	}
}
