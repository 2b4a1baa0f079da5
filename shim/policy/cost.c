/*
 * What a context costs. See cost.h.
 */
#include "policy/cost.h"
#include "policy/quiet.h"
#include "policy/refuse.h"
#include "policy/seat.h"

#include "base/log.h"
#include "base/size.h"
#include "base/wiped.h"

#include <errno.h>

#define ESTIMATE ((512u << 20) / CUQUOTA_UNIT)
#define STRANGE ((1024u << 20) / CUQUOTA_UNIT) /* no context takes so much: somebody
					        * outside the ledger does */
#define TRIES 3
#define TURN_NS 1000000000ull
#define TURN_NAP_NS 1000000u

static int driver_version(void)
{
	int version = 0;

	real.cuDriverGetVersion(&version);
	return version;
}

/* Units that contexts were seen to take on this device and driver; 0 not seen. */
static uint32_t known(const struct device *device)
{
	const struct cuquota_header *const header = seat_member(device)->segment->header;

	if (__atomic_load_n(&header->context_driver, __ATOMIC_ACQUIRE) !=
	    (uint32_t)driver_version())
		return 0;
	return __atomic_load_n(&header->context_units, __ATOMIC_RELAXED);
}

static uint32_t expected(const struct device *device)
{
	const uint32_t seen = known(device);

	return seen ? seen : ESTIMATE;
}

static void learn(const struct device *device, uint32_t units)
{
	struct cuquota_header *const header = seat_member(device)->segment->header;

	const uint32_t seen = known(device);

	/* Lower only: what somebody outside the ledger held at first is not charged for ever. */
	if (seen && units >= seen)
		return;
	__atomic_store_n(&header->context_units, units, __ATOMIC_RELAXED);
	__atomic_store_n(&header->context_driver, (uint32_t)driver_version(), __ATOMIC_RELEASE);
}

static struct account_watch watch_of(const struct device *device)
{
	struct account_watch watch;

	account_watch(seat_member(device), &watch);
	return watch;
}

/*
 * Whose turn it is to make the one context whose cost everybody then knows; -1 when it is known, or
 * cannot be learned now. Programs that start at once would else charge the estimate each, and none
 * could measure beside the others.
 */
static int take_turn(const struct device *device)
{
	const struct segment *const segment = seat_member(device)->segment;
	const uint64_t until = segment_now_ns() + TURN_NS;
	const int kept = errno;
	int turn = -1;

	while (!known(device) && (turn = life_learn(segment)) == -EAGAIN &&
	       segment_now_ns() < until)
		nap_ns(TURN_NAP_NS);
	if (turn >= 0 && !known(device) && watch_of(device).others)
		member_sweep_now(segment);
	if (turn >= 0 && (known(device) || watch_of(device).others)) {
		life_settled(turn);
		turn = -1;
	}
	errno = kept;
	return turn < 0 ? -1 : turn;
}

void cost_undo(const struct context_change *change, const CUcontext *context)
{
	if (change->call == CONTEXT_RETAIN)
		real.cuDevicePrimaryCtxRelease_v2(change->ordinal);
	else if (change->call == CONTEXT_CREATE)
		real.cuCtxDestroy_v2(*context);
}

void cost_end(struct context_change *change)
{
	const int kept = errno;

	life_settled(change->turn);
	change->turn = -1;
	errno = kept;
}

/*
 * What is left, if it is less than `wanted`: only a process that can measure afterwards may try
 * with it, and for a moment may take more than its limit, alone on the card.
 */
static bool charge_rest(struct context_change *change, uint32_t wanted)
{
	if (watch_of(change->device).charged)
		return false;
	for (int i = 0; i < TRIES; i++) {
		change->units = seat_room(change->device);
		if (change->units < wanted &&
		    !seat_charge(change->device, change->units, &change->seat, NULL))
			return true;
	}
	return false;
}

CUresult cost_charge(struct context_change *change)
{
	const struct device *const device = change->device;
	struct refusal *const refusal = &change->refusal;
	uint32_t wanted;

	change->turn = take_turn(device);
	wanted = expected(device);
	change->units = wanted;
	change->spare = change->wants_spare ? device->grain : 0;
	if (!seat_charge(device, change->units + change->spare, &change->seat, refusal))
		return CUDA_SUCCESS;
	if (change->spare) {
		change->spare = 0;
		if (!seat_charge(device, change->units, &change->seat, refusal))
			return CUDA_SUCCESS;
	}
	if (charge_rest(change, wanted)) {
		change->partial = true;
		return CUDA_SUCCESS;
	}
	return refuse(device, "a context", (uint64_t)wanted * CUQUOTA_UNIT, refusal);
}

CUresult cost_refuse(const struct context_change *change)
{
	static const char what[] = "a context, which was tried and given back";
	const uint64_t bytes = (uint64_t)expected(change->device) * CUQUOTA_UNIT;

	return change->partial ? refuse(change->device, what, bytes, &change->refusal)
			       : refuse_excess(change->device, what, bytes);
}

void cost_refund(struct context_change *change)
{
	seat_refund(change->device, change->seat, change->units + change->spare);
	change->units = change->spare = 0;
}

/* Free and total memory as the new context sees them. */
static bool ask(const struct context_change *change, const CUcontext *context, size_t *free,
		size_t *total)
{
	CUcontext popped;
	CUresult rc;

	if (change->call == CONTEXT_CREATE) /* it is current */
		return real.cuMemGetInfo_v2(free, total) == CUDA_SUCCESS;
	if (real.cuCtxPushCurrent_v2(*context) != CUDA_SUCCESS)
		return false;
	rc = real.cuMemGetInfo_v2(free, total);
	real.cuCtxPopCurrent_v2(&popped);
	return rc == CUDA_SUCCESS;
}

/*
 * Units that it took. False: cannot be told, because others hold something or moved
 * meanwhile, or this process itself holds more than this claim, of which it is not certain
 * what the driver really took.
 */
static bool measure(const struct context_change *change, const CUcontext *context, uint32_t *took)
{
	const struct member *const member = seat_member(change->device);
	const uint64_t claimed = (uint64_t)(change->units + change->spare) * CUQUOTA_UNIT;

	for (int i = 0; i < TRIES && !capturing(); i++) {
		struct account_watch watch;
		size_t free, total;

		account_watch(member, &watch);
		if (watch.others || watch.charged != claimed)
			return false;
		if (!ask(change, context, &free, &total) || free > total)
			return false;
		if (!account_undisturbed(member, &watch))
			continue;
		*took = seat_units(total - free);
		return true;
	}
	return false;
}

static void charge_more(struct context_change *change, uint32_t units)
{
	const struct device *const device = change->device;

	if (seat_charge_more(device, change->seat, units)) {
		seat_force_more(device, change->seat, units);
		__atomic_add_fetch(&member_detail(seat_member(device))->over,
				   (uint64_t)units * CUQUOTA_UNIT, __ATOMIC_RELAXED);
	}
	change->units += units;
}

static void charge_spare(struct context_change *change)
{
	if (change->spare || !change->wants_spare ||
	    !seat_has_room(change->device, change->device->grain))
		return;
	if (!seat_charge_more(change->device, change->seat, change->device->grain))
		change->spare = change->device->grain;
}

bool cost_settle(struct context_change *change, const CUcontext *context)
{
	const struct device *const device = change->device;
	const bool by_estimate = !known(device);
	char text[SIZE_TEXT];
	uint32_t took;

	if (!measure(change, context, &took))
		return !change->partial;
	if (took > STRANGE) {
		log_info("%s: %s are in use that no member of the ledger holds; a context is "
			 "charged by estimate",
			 device->name, size_format((uint64_t)took * CUQUOTA_UNIT, text));
		return !change->partial;
	}
	learn(device, took);
	if (took > change->units) {
		if (change->partial)
			return false;
		/* One that is known to be cheaper: the rest is somebody's outside the ledger. */
		if (by_estimate)
			charge_more(change, took - change->units);
		return true;
	}
	seat_refund(device, change->seat, change->units - took);
	change->units = took;
	charge_spare(change);
	return true;
}
