/*
 * Claims and releases. See claim.h.
 */
#include "policy/claim.h"
#include "policy/block_table.h"
#include "policy/context.h"
#include "policy/extent_index.h"
#include "policy/orphan.h"
#include "policy/pool.h"
#include "policy/process.h"
#include "policy/refuse.h"
#include "policy/seat.h"
#include "policy/small.h"
#include "base/wiped.h"

#include <errno.h>

#define AGAIN_AFTER_NS 2000000000ull /* a death so long ago does not explain a driver's refusal */
#define AGAIN_FOR_NS 100000000ull
#define AGAIN_NAP_NS 5000000ull

static uint32_t captures;

void capture_began(void)
{
	__atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
}

void capture_ended(void)
{
	__atomic_sub_fetch(&captures, 1, __ATOMIC_RELAXED);
}

bool capturing(void)
{
	return __atomic_load_n(&captures, __ATOMIC_RELAXED) != 0;
}

/* In whole grains. Managed memory may take less, page by page; as nobody tells us when, it is
 * charged like the rest. */
static uint32_t whole_units(const struct device *device, size_t bytes)
{
	const uint32_t units = seat_units(bytes), grain = device->grain;

	if (__builtin_expect((grain & (grain - 1)) == 0, 1))
		return (units + grain - 1) & ~(grain - 1);
	return (units + grain - 1) / grain * grain;
}

static CUresult open_without_device(struct claim *claim)
{
	const enum process_mode mode = process_now();

	claim->aside = mode == PROCESS_ASIDE;
	return mode == PROCESS_DENIED ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

static CUresult charge(struct claim *claim, enum family family)
{
	const struct device *const device = claim->device;
	struct refusal refusal;

	claim->epoch = block_epoch();
	claim->context = family == FAMILY_VMM ? 0 : process_thread.serial;
	claim->moving = quiet_move();
	if (family == FAMILY_LINEAR && small_is(claim->bytes))
		return small_open(claim);
	claim->units = whole_units(device, claim->bytes);
	if (__builtin_expect(!seat_charge(device, claim->units, &claim->seat, &refusal), 1))
		return CUDA_SUCCESS;
	if (pool_relieve(device) && !seat_charge(device, claim->units, &claim->seat, &refusal))
		return CUDA_SUCCESS;
	quiet_moved(claim->moving);
	return refuse(device, "", claim->bytes, &refusal);
}

CUresult claim_open_from(const void *caller, struct claim *claim, enum family family,
			 const struct device *device, size_t bytes)
{
	CUresult rc;

	claim->device = device;
	claim->bytes = bytes;
	claim->until_ns = 0;
	claim->units = 0;
	claim->family = (uint8_t)family;
	claim->tokens = 0;
	claim->small = claim->spare = claim->noted = claim->aside = claim->excess = claim->moving =
		false;
	if (__builtin_expect(!process_entered(caller), 0)) {
		claim->device = NULL;
		claim->aside = true;
		return CUDA_SUCCESS;
	}
	rc = __builtin_expect(device != NULL, 1) ? charge(claim, family)
						 : open_without_device(claim);
	if (__builtin_expect(rc != CUDA_SUCCESS, 0))
		process_left();
	return rc;
}

bool claim_again_slow(struct claim *claim)
{
	uint64_t now, forgotten;

	if (!claim->device || capturing())
		return false;
	now = segment_now_ns();
	if (!claim->until_ns) {
		forgotten =
			__atomic_load_n(&seat_member(claim->device)->segment->header->forgotten_ns,
					__ATOMIC_RELAXED);
		if (forgotten > now || now - forgotten > AGAIN_AFTER_NS)
			return false;
		claim->until_ns = now + AGAIN_FOR_NS;
	}
	if (now >= claim->until_ns)
		return false;
	nap_ns(AGAIN_NAP_NS);
	return true;
}

void claim_settle(struct claim *claim, size_t bytes)
{
	const struct device *const device = claim->device;
	uint32_t units;

	if (!device)
		return;
	claim->bytes = bytes;
	if (claim->family == CUQUOTA_LINEAR && small_is(bytes)) {
		small_adopt(claim);
		return;
	}
	small_leave(claim);
	units = whole_units(device, bytes);
	if (units <= claim->units) {
		seat_refund(device, claim->seat, claim->units - units);
	} else if (seat_charge_more(device, claim->seat, units - claim->units)) {
		claim->excess = true;
		return;
	}
	claim->units = units;
}

/* Does the driver know an allocation that begins there? Only a clear no is one. `bytes`: its size,
 * 0 not told. */
static bool is_alive(CUdeviceptr pointer, size_t *bytes)
{
	CUdeviceptr base = 0;

	*bytes = 0;
	switch (real.cuMemGetAddressRange_v2(&base, bytes, pointer)) {
	case CUDA_SUCCESS:
		return base == pointer;
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_NOT_FOUND:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return false;
	default:
		*bytes = 0;
		return true;
	}
}

bool claim_renew(struct claim *claim, CUdeviceptr pointer)
{
	const struct device *const device = claim->device;
	const uint64_t opened = claim->epoch;
	size_t bytes;

	claim->epoch = block_epoch();
	if (orphan_take(pointer, opened) || !is_alive(pointer, &bytes))
		return false;
	if (claim->seat != seat_now(device)) {
		claim->seat = seat_force(device, claim->units + small_tokens(claim));
		seat_unhold(device, claim->seat, small_tokens(claim));
	}
	/* Another's, entered in its place: see orphan.h. */
	if (bytes && bytes != claim->bytes) {
		claim_settle(claim, bytes);
		if (claim->excess) {
			seat_force_more(device, claim->seat,
					whole_units(device, bytes) - claim->units);
			claim->units = whole_units(device, bytes);
			claim->excess = false;
		}
	}
	if (claim->context) {
		device_current();
		claim->context = context_serial();
	}
	return true;
}

void claim_finish(struct claim *claim)
{
	small_finish(claim);
	quiet_moved(claim->moving);
	process_left();
}

static void refund(struct claim *claim)
{
	small_tokens_end(claim);
	seat_refund(claim->device, claim->seat, claim->units);
	seat_refund_token(claim->device, claim->seat, small_tokens(claim));
}

CUresult claim_fail(struct claim *claim, CUresult rc)
{
	refund(claim);
	if (rc == CUDA_ERROR_OUT_OF_MEMORY)
		__atomic_add_fetch(&member_detail(seat_member(claim->device))->refused_driver, 1,
				   __ATOMIC_RELAXED);
	claim_finish(claim);
	return rc;
}

static inline __attribute__((always_inline)) int enter(struct claim *claim, uint64_t pointer)
{
	return claim->small ? small_enter(claim, pointer) : claim_enter(claim, pointer);
}

/*
 * What is to be undone and the driver does not take back is the program's, and charged: what
 * nothing pays for, by force. False: it is gone, or cannot be recorded.
 */
static bool keep(struct claim *claim, CUdeviceptr pointer)
{
	int rc;

	if (claim->excess) {
		const uint32_t units = whole_units(claim->device, claim->bytes);

		seat_force_more(claim->device, claim->seat, units - claim->units);
		claim->units = units;
	}
	while ((rc = enter(claim, pointer))) {
		if (rc == -EDQUOT)
			small_force(claim);
		else if (rc != -EAGAIN || !claim_renew(claim, pointer))
			return false;
	}
	return true;
}

/* Given back to the driver first: until then it is charged. */
static CUresult undo(struct claim *claim, CUdeviceptr pointer)
{
	size_t bytes;

	if (real.cuMemFree_v2(pointer) != CUDA_SUCCESS && is_alive(pointer, &bytes) &&
	    keep(claim, pointer)) {
		claim_finish(claim);
		return CUDA_SUCCESS;
	}
	refund(claim);
	claim_finish(claim);
	return refuse_excess(claim->device,
			     claim->small ? "what needs a new grain, which was given back"
					  : "what took more and was given back",
			     claim->bytes);
}

CUresult claim_close_without_device(const struct claim *claim, CUresult rc,
				    void (*undo_it)(uint64_t), uint64_t handle)
{
	if (rc == CUDA_SUCCESS && !claim->aside) {
		undo_it(handle);
		rc = refuse_uncounted();
	}
	process_left();
	return rc;
}

static void free_it(uint64_t pointer)
{
	real.cuMemFree_v2((CUdeviceptr)pointer);
}

CUresult claim_close(struct claim *claim, CUresult rc, const CUdeviceptr *dptr)
{
	int entered;

	if (__builtin_expect(!claim->device, 0))
		return claim_close_without_device(claim, rc, free_it,
						  rc == CUDA_SUCCESS ? *dptr : 0);
	if (__builtin_expect(rc != CUDA_SUCCESS, 0))
		return claim_fail(claim, rc);
	if (__builtin_expect(claim->excess, 0))
		return undo(claim, *dptr);
	while ((entered = enter(claim, *dptr)) == -EAGAIN)
		if (!claim_renew(claim, *dptr))
			return claim_fail(claim, rc); /* another thread has freed it already */
	if (__builtin_expect(entered, 0))
		return undo(claim, *dptr);
	claim_finish(claim);
	return rc;
}

int claim_enter(const struct claim *claim, uint64_t pointer)
{
	const struct block block = {.pointer = pointer,
				    .units = claim->units,
				    .context = claim->context,
				    .device = device_index(claim->device),
				    .family = claim->family,
				    .seat = claim->seat,
				    .kind = BLOCK_WHOLE};
	const int rc = shard_add(&block, claim->epoch);

	if (!rc)
		seat_count(claim->device, claim->family, claim->units);
	return rc;
}

static void give_whole(const struct block *block)
{
	const struct device *const device = device_by_index(block->device);

	seat_refund(device, block->seat, block->units);
	seat_count(device, block->family, -(int64_t)block->units);
}

static void give_small(const struct block *block)
{
	extent_leave_entry(block, true);
}

void claim_drop_context(uint32_t serial)
{
	extent_drop_context(serial);
	block_drop_context(serial, give_whole, give_small);
}

/* The oldest live block at that address goes. `at`: where its label would be. `certain`: look also
 * where another thread may just be entering it. */
static bool take(uint64_t pointer, uint16_t *at, bool certain)
{
	struct block block;

	if (extent_leave(pointer, certain))
		return true;
	if (!shard_take(pointer, at, &block))
		return false;
	if (block.kind != BLOCK_WHOLE) {
		extent_leave_entry(&block, false);
		return true;
	}
	give_whole(&block);
	return true;
}

static bool take_certain(uint64_t pointer)
{
	return take(pointer, label_find(pointer), true);
}

void claim_release(CUdeviceptr pointer)
{
	take_certain(pointer);
}

void release_open_from(const void *caller, struct release *release, CUdeviceptr pointer)
{
	release->pointer = pointer;
	release->watched = NULL;
	release->ours = process_entered(caller) && process_mode() == PROCESS_READY;
	release->moving = release->ours && quiet_move();
	if (release->ours) {
		release->at = label_find(pointer);
		/* It comes while the driver is at work. */
		if (release->at)
			__builtin_prefetch(release->at, 1);
		extent_expect(pointer);
	}
	if (__builtin_expect(release->ours && __atomic_load_n(&quiet_unknown, __ATOMIC_RELAXED) &&
				     extent_may_be_last(pointer),
			     0))
		release->watched = small_watch(pointer, release->moving, &release->quiet);
}

CUresult release_close(struct release *release, CUresult rc)
{
	process_left();
	if (!release->ours)
		return rc;
	if (rc == CUDA_SUCCESS && release->pointer) {
		if (release->watched)
			quiet_learn(release->watched, &release->quiet);
		if (__builtin_expect(!take(release->pointer, release->at, false), 0))
			orphan_note(release->pointer, take_certain);
	}
	quiet_moved(release->moving);
	if (__builtin_expect(release->watched != NULL, 0))
		small_review();
	return rc;
}
