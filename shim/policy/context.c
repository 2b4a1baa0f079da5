/*
 * Which contexts there are. See context.h; what they cost is cost.c's.
 *
 * A primary context is charged while the driver says that it is active, so releases, resets and
 * references need no count of ours. A created one is known by its handle. Handles that were never
 * made through us (those of green contexts) stand for the primary context of their device.
 */
#include "policy/context.h"
#include "policy/block.h"
#include "policy/claim.h"
#include "policy/cost.h"
#include "policy/lock.h"
#include "policy/process.h"
#include "policy/refuse.h"
#include "policy/seat.h"
#include "policy/turn.h"

#include "base/devices.h"
#include "base/wiped.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct context {
	CUcontext handle;
	uint32_t serial;
	uint32_t units;
	uint32_t references; /* cuCtxAttach; guarded by the home's `making` */
	uint8_t device;
	uint8_t seat;
	bool dropping; /* who asked the driver to end it keeps the record till it answered */
	UT_hash_handle hh;
};

/* Of one device. */
struct home {
	struct turn making; /* while a context is made or dropped; the lock guards the rest */
	uint32_t primary;   /* serial of the primary context, 0 while there is none */
	uint32_t primary_units;
	uint8_t primary_seat;
	uint32_t count; /* contexts, the primary one included */
	uint32_t spare; /* units of the spare grain, 0 while not paid */
	uint8_t spare_seat;
};

struct contexts {
	struct lock lock; /* of table, serial and the primary serials */
	struct context *table;
	uint32_t serial;
	struct home home[DEVICES_MAX];
};

static void *memory;

static struct contexts *contexts(void)
{
	return memory;
}

static struct home *home_of(const struct device *device)
{
	return &contexts()->home[device_index(device)];
}

int context_start(void)
{
	if (!wiped_once(&memory, sizeof(struct contexts)))
		return -ENOMEM;
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		turn_start(&contexts()->home[i].making);
	return 0;
}

static struct context *find(CUcontext handle)
{
	struct context *context;

	HASH_FIND_PTR(contexts()->table, &handle, context);
	return context;
}

uint32_t context_serial_of(CUcontext handle, const struct device *device)
{
	const struct context *context;
	uint32_t serial;

	lock_take(&contexts()->lock);
	context = find(handle);
	serial = context ? context->serial : home_of(device)->primary;
	lock_give(&contexts()->lock);
	return serial;
}

static void lock_home(struct context_change *change)
{
	change->cancel = turn_take(&home_of(change->device)->making);
	change->moving = quiet_move();
}

static void unlock_home(struct context_change *change)
{
	quiet_moved(change->moving);
	cost_end(change);
	turn_give(&home_of(change->device)->making, change->cancel);
}

/* A call that the driver makes of itself, through a hook, has no device: nothing is done for it. */
static inline __attribute__((always_inline)) void
begin(const void *caller, struct context_change *change, enum context_call call, CUdevice ordinal)
{
	const bool nested = !process_entered(caller);

	*change = (struct context_change){
		.ordinal = ordinal, .call = call, .nested = nested, .turn = -1};
	if (!nested && call < CONTEXT_DESTROY)
		change->device = device_at(ordinal);
}

CUresult context_make_from(const void *caller, struct context_change *change,
			   enum context_call call, CUdevice ordinal)
{
	const struct home *home;
	CUresult rc;

	begin(caller, change, call, ordinal);
	rc = state_permits();
	if (rc == CUDA_SUCCESS && change->device) {
		lock_home(change);
		home = home_of(change->device);
		change->fresh = call == CONTEXT_CREATE || !home->primary;
		change->wants_spare = !home->spare;
		if (change->fresh)
			rc = cost_charge(change);
		if (rc != CUDA_SUCCESS)
			unlock_home(change);
	}
	if (rc != CUDA_SUCCESS)
		process_left();
	return rc;
}

static bool primary_is_active(CUdevice ordinal, bool otherwise)
{
	unsigned flags;
	int active;

	return real.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) == CUDA_SUCCESS
		       ? active != 0
		       : otherwise;
}

static bool serial_is_used(uint32_t serial)
{
	const struct context *context = contexts()->table;
	bool used = false;

	for (unsigned i = 0; i < DEVICES_MAX; i++)
		used |= contexts()->home[i].primary == serial;
	for (; context; context = context->hh.next)
		used |= context->serial == serial;
	return used;
}

/* When they begin anew, those of contexts that live on are passed over. */
static uint32_t next_serial(void)
{
	do
		contexts()->serial = contexts()->serial % (CONTEXT_SERIALS - 1) + 1;
	while (serial_is_used(contexts()->serial));
	return contexts()->serial;
}

static int enter(struct context_change *change, const CUcontext *handle)
{
	struct home *const home = home_of(change->device);
	struct context *context = NULL, *old = NULL;

	if (change->call == CONTEXT_CREATE) {
		context = calloc(1, sizeof(*context));
		if (!context)
			return -ENOMEM;
		context->handle = *handle;
		context->units = change->units;
		context->device = device_index(change->device);
		context->references = 1;
	}
	lock_take(&contexts()->lock);
	/* the place was lost meanwhile, and the charge with it */
	if (change->seat != seat_now(change->device))
		change->seat = seat_force(change->device, change->units + change->spare);
	if (context) {
		context->seat = change->seat;
		context->serial = next_serial();
		/*
		 * The driver gives a handle again only after its context ended: without our
		 * knowing, or just now in another thread, which then sees to the rest.
		 */
		old = find(*handle);
		if (old)
			HASH_DEL(contexts()->table, old);
		if (old && old->dropping)
			old = NULL;
		HASH_ADD_PTR(contexts()->table, handle, context);
	} else {
		home->primary = next_serial();
		home->primary_units = change->units;
		home->primary_seat = change->seat;
	}
	if (change->spare) {
		home->spare_seat = change->seat;
		__atomic_store_n(&home->spare, change->spare, __ATOMIC_RELEASE);
	}
	lock_give(&contexts()->lock);
	current_forget();
	home->count++;
	seat_count(change->device, CUQUOTA_CONTEXT, (int64_t)change->units + change->spare);
	if (old) {
		seat_refund(device_by_index(old->device), old->seat, old->units);
		home_of(device_by_index(old->device))->count--;
		free(old);
	}
	return 0;
}

/* A device that we did not join made a context: nobody would count what it allocates. */
static CUresult made_unknown(const struct context_change *change, CUresult rc,
			     const CUcontext *context)
{
	if (rc != CUDA_SUCCESS || change->nested || state_aside())
		return rc;
	cost_undo(change, context);
	return refuse_uncounted();
}

static CUresult made(struct context_change *change, CUresult rc, const CUcontext *context)
{
	if (rc == CUDA_SUCCESS && (!cost_settle(change, context) || enter(change, context))) {
		cost_undo(change, context);
		rc = cost_refuse(change);
	}
	if (rc != CUDA_SUCCESS)
		cost_refund(change);
	return rc;
}

CUresult context_made(struct context_change *change, CUresult rc, const CUcontext *context)
{
	if (!change->device)
		rc = made_unknown(change, rc, context);
	else if (change->fresh)
		rc = made(change, rc, context);
	if (change->device)
		unlock_home(change);
	process_left();
	return rc;
}

/* The driver ended a context: it takes its blocks along. Its record is out of the tables. */
static void ended(const struct device *device, uint32_t serial, uint8_t seat, uint32_t units)
{
	struct home *const home = home_of(device);
	uint32_t spare = 0;
	uint8_t spare_seat;

	current_forget();
	block_epoch_raise();
	claim_drop_context(serial);
	lock_take(&contexts()->lock);
	spare_seat = home->spare_seat;
	if (--home->count == 0)
		spare = __atomic_exchange_n(&home->spare, 0, __ATOMIC_ACQ_REL);
	lock_give(&contexts()->lock);
	seat_refund(device, spare_seat, spare);
	seat_refund(device, seat, units);
	seat_count(device, CUQUOTA_CONTEXT, -(int64_t)units - spare);
}

void context_release_from(const void *caller, struct context_change *change, CUdevice ordinal)
{
	begin(caller, change, CONTEXT_RELEASE, ordinal);
	if (change->device)
		lock_home(change);
}

CUresult context_released(struct context_change *change, CUresult rc)
{
	struct home was, *const home = change->device ? home_of(change->device) : NULL;

	if (home && rc == CUDA_SUCCESS && home->primary &&
	    !primary_is_active(change->ordinal, true)) {
		lock_take(&contexts()->lock);
		was = *home;
		home->primary = 0;
		lock_give(&contexts()->lock);
		ended(change->device, was.primary, was.primary_seat, was.primary_units);
	}
	if (home)
		unlock_home(change);
	process_left();
	return rc;
}

/* Takes the lock of a created context's home. Meanwhile the handle may come to name another. */
static void lock_context(struct context_change *change, CUcontext handle)
{
	const struct device *device;

	for (;;) {
		lock_take(&contexts()->lock);
		change->context = find(handle);
		device = change->context ? device_by_index(change->context->device) : NULL;
		if (!device || device == change->device)
			break;
		lock_give(&contexts()->lock);
		if (change->device)
			unlock_home(change);
		change->device = device;
		lock_home(change);
	}
	if (change->context)
		change->context->dropping = true;
	lock_give(&contexts()->lock);
	if (!device && change->device) {
		unlock_home(change);
		change->device = NULL;
	}
}

void context_begin_from(const void *caller, struct context_change *change, enum context_call call,
			CUcontext handle)
{
	begin(caller, change, call, 0);
	if (process_mode() == PROCESS_READY && !change->nested &&
	    (handle || real.cuCtxGetCurrent(&handle) == CUDA_SUCCESS))
		lock_context(change, handle);
}

/* Has a created context ended, now that the driver answered? Then it is out of the table. */
static bool at_its_end(const struct context_change *change, CUresult rc)
{
	struct context *const context = change->context;
	bool end = rc == CUDA_SUCCESS && change->call == CONTEXT_DESTROY;

	if (rc == CUDA_SUCCESS && change->call == CONTEXT_ATTACH)
		context->references++;
	if (rc == CUDA_SUCCESS && change->call == CONTEXT_DETACH)
		end = --context->references == 0;
	lock_take(&contexts()->lock);
	context->dropping = false;
	if (find(context->handle) != context)
		end = true;
	else if (end)
		HASH_DEL(contexts()->table, context);
	lock_give(&contexts()->lock);
	return end;
}

CUresult context_answered(struct context_change *change, CUresult rc)
{
	struct context *const context = change->context;

	if (context && at_its_end(change, rc)) {
		ended(change->device, context->serial, context->seat, context->units);
		free(context);
	}
	if (change->device)
		unlock_home(change);
	process_left();
	return rc;
}

bool context_has_spare(const struct device *device)
{
	return __atomic_load_n(&home_of(device)->spare, __ATOMIC_ACQUIRE) != 0;
}

void context_adopt(uint8_t index, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	struct home *const home = &contexts()->home[index];
	struct context *context, *next;

	lock_take(&contexts()->lock);
	if (home->primary)
		adopt(index, home->primary_units);
	adopt(index, home->spare);
	home->primary_seat = home->spare_seat = seat;
	HASH_ITER(hh, contexts()->table, context, next)
	{
		if (context->device != index)
			continue;
		context->seat = seat;
		adopt(index, context->units);
	}
	lock_give(&contexts()->lock);
}
