/*
 * Requests below a grain. See small.h.
 *
 * A driver that needs new memory for a request takes a grain and puts the block at its start, so a
 * block touches at most one new grain, two if it goes across into one from the rest of another.
 * Requests above half a grain therefore take two tokens where two can be had.
 */
#include "policy/small.h"
#include "policy/extent_index.h"
#include "policy/pool.h"
#include "policy/process.h"
#include "policy/refuse.h"
#include "policy/seat.h"
#include "policy/turn.h"
#include "base/wiped.h"

#include "base/devices.h"

#include <errno.h>

struct spares {
	struct turn using[DEVICES_MAX];
	bool touched[DEVICES_MAX]; /* small blocks were ever there */
};

static void *memory;

static struct spares *spares(void)
{
	return memory;
}

static uint32_t grain_units(void)
{
	return (uint32_t)(extent_bytes() / CUQUOTA_UNIT);
}

static void give(const struct extent_paid *paid)
{
	seat_refund(device_by_index(paid->device), paid->seat, grain_units());
}

static bool keeps(uint8_t index)
{
	return quiet_returns(device_by_index(index)) != 1;
}

int claim_start(size_t grain_bytes)
{
	if (!wiped_once(&memory, sizeof(struct spares)))
		return -ENOMEM;
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		turn_start(&spares()->using[i]);
	return extent_start(grain_bytes, give, keeps);
}

/* Stop paying for emptied grains that the driver is known to have given back. */
static void refund_idle(const struct device *device)
{
	struct extent_paid paid;

	while (extent_idle(device_index(device)) && extent_reclaim(device_index(device), 0, &paid))
		give(&paid);
}

void small_left_behind(void)
{
	const struct process_thread *const thread = &process_thread;

	seat_hold(device_by_index(thread->token_device), thread->token_seat, thread->token);
	process_thread.token = 0;
}

static void tokens_begin(struct claim *claim)
{
	small_look_behind();
	process_thread.token = small_tokens(claim);
	process_thread.token_device = device_index(claim->device);
	process_thread.token_seat = claim->seat;
	claim->noted = true;
}

void small_tokens_end(struct claim *claim)
{
	if (!claim->noted)
		return;
	claim->noted = false;
	if (__builtin_expect(!process_thread.token, 0))
		seat_unhold(claim->device, claim->seat, small_tokens(claim));
	process_thread.token = 0;
}

static bool charge_tokens(struct claim *claim, unsigned tokens, struct refusal *refusal)
{
	if (seat_charge_token(claim->device, tokens * grain_units(), &claim->seat, refusal))
		return false;
	claim->tokens = (uint8_t)tokens;
	tokens_begin(claim);
	return true;
}

static void take_spare(struct claim *claim)
{
	claim->cancel = turn_take(&spares()->using[device_index(claim->device)]);
	claim->spare = true;
	claim->seat = seat_now(claim->device);
}

void small_release_spare(struct claim *claim)
{
	claim->spare = false;
	turn_give(&spares()->using[device_index(claim->device)], claim -> cancel);
}

CUresult small_open(struct claim *claim)
{
	const struct device *const device = claim->device;
	unsigned tokens = claim->bytes > extent_bytes() / 2 ? 2 : 1;
	struct refusal refusal;

	claim->small = true;
	if (__builtin_expect(extent_idle(device_index(device)), 0) && quiet_returns(device) == 1)
		refund_idle(device);
	for (; tokens; tokens--)
		if (seat_has_room(device, tokens * grain_units()) &&
		    charge_tokens(claim, tokens, NULL))
			return CUDA_SUCCESS;
	/*
	 * Looking for the dead costs a sweep: only if the request does not fit what is paid for.
	 * Beyond the limit the spare grain stands for what was charged by force.
	 */
	if (context_has_spare(device) && seat_within_limit(device)) {
		take_spare(claim);
		return CUDA_SUCCESS;
	}
	if (charge_tokens(claim, 1, &refusal) ||
	    (pool_relieve(device) && charge_tokens(claim, 1, &refusal)))
		return CUDA_SUCCESS;
	quiet_moved(claim->moving);
	return refuse(device, "", claim->bytes, &refusal);
}

/* A grain charged to the claim as held is one more token of it. */
static void add_token(struct claim *claim)
{
	seat_unhold(claim->device, claim->seat, grain_units());
	claim->tokens++;
}

/*
 * It touched more new grains than there are tokens. They are covered by the spare, or by nothing
 * for this moment.
 */
static bool another_token(struct claim *claim)
{
	const uint8_t index = device_index(claim->device);
	struct extent_paid paid;

	/* Not yet known whether the driver kept the grain that was emptied; had it, the block would
	 * lie there. */
	if (extent_idle(index) && quiet_returns(claim->device) == 0 &&
	    extent_reclaim(index, claim->context, &paid)) {
		if (paid.seat == claim->seat) {
			add_token(claim);
			return true;
		}
		give(&paid);
	}
	if (seat_charge_more(claim->device, claim->seat, grain_units()))
		return false;
	add_token(claim);
	return true;
}

void small_force(struct claim *claim)
{
	seat_force_more(claim->device, claim->seat, grain_units());
	add_token(claim);
}

int small_enter(struct claim *claim, CUdeviceptr pointer)
{
	const uint8_t index = device_index(claim->device);
	const struct extent_paid paid = {
		.device = index, .seat = claim->seat, .context = claim->context};
	struct extent_paid old;
	unsigned used;
	int left;

	small_tokens_end(claim);
	do
		left = extent_enter(pointer, claim->bytes, &paid, claim->family, claim->tokens,
				    claim->epoch);
	while (left == -EDQUOT && another_token(claim));
	if (left < 0)
		return left;
	used = claim->tokens - (unsigned)left;
	seat_refund_token(claim->device, claim->seat, (uint32_t)left * grain_units());
	claim->tokens = 0;
	if (!used)
		return 0;
	seat_hold(claim->device, claim->seat, used * grain_units());
	if (__builtin_expect(!__atomic_load_n(&spares()->touched[index], __ATOMIC_RELAXED), 0)) {
		__atomic_store_n(&spares()->touched[index], true, __ATOMIC_RELAXED);
		if (!quiet_returns(claim->device))
			quiet_want(true);
	}
	if (__builtin_expect(extent_idle(index), 0) && quiet_returns(claim->device) == 0 &&
	    extent_reclaim(index, claim->context, &old))
		give(&old);
	return 0;
}

void small_adopt(struct claim *claim)
{
	if (claim->small)
		return;
	claim->small = true;
	claim->tokens =
		(uint8_t)(claim->units / grain_units() > 2 ? 2 : claim->units / grain_units());
	seat_refund(claim->device, claim->seat, claim->units - small_tokens(claim));
	seat_unhold(claim->device, claim->seat, small_tokens(claim));
	claim->units = 0;
}

void small_leave(struct claim *claim)
{
	if (!claim->small)
		return;
	small_tokens_end(claim);
	claim->small = false;
	claim->units = small_tokens(claim);
	seat_hold(claim->device, claim->seat, claim->units);
	claim->tokens = 0;
}

const struct device *small_watch(uint64_t pointer, bool moving, struct quiet *quiet)
{
	const struct device *device;
	struct extent_paid paid;

	if (capturing() || !extent_is_last(pointer, &paid))
		return NULL;
	device = device_by_index(paid.device);
	if (quiet_returns(device) || device_current() != device)
		return NULL;
	return quiet_begin(device, moving, quiet) ? device : NULL;
}

void small_review(void)
{
	const struct device *device;
	bool unknown = false;

	for (unsigned i = 0; (device = device_next(i)); i++) {
		if (quiet_returns(device) == 1)
			refund_idle(device);
		unknown |= __atomic_load_n(&spares()->touched[i], __ATOMIC_RELAXED) &&
			   !quiet_returns(device);
	}
	if (!unknown)
		quiet_want(false);
}
