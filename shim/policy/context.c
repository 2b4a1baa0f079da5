/*
 * Which contexts there are. See context.h; what they cost is cost.c's.
 *
 * A primary context is charged while the driver says that it is active, so releases, resets and references need no
 * count of ours. A created one is known by its handle. Handles that were never made through us (those of green contexts)
 * stand for the primary context of their device, on which they lie.
 */
#include "policy/context.h"
#include "policy/block.h"
#include "policy/cost.h"
#include "policy/extent.h"
#include "policy/process.h"
#include "policy/quiet.h"
#include "policy/seat.h"
#include "policy/wiped.h"

#include "base/devices.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct context {
	CUcontext handle;
	uint32_t serial;
	uint32_t units;
	uint32_t references; /* cuCtxAttach */
	uint8_t device;
	uint8_t seat;
	UT_hash_handle hh;
};

/* Of one device. */
struct home {
	pthread_mutex_t making; /* held while a context is made or dropped; the lock guards the rest */
	uint32_t primary;	/* serial of the primary context, 0 while there is none */
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
	uint64_t generation; /* raised by the end of any context */
	struct home home[DEVICES_MAX];
};

static void *memory;

/* The last answer of device_current in this thread. */
static __thread struct {
	CUcontext context;
	uint64_t generation;
	const struct device *device;
	uint32_t serial;
} current __attribute__((tls_model("initial-exec")));

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
	/* What a thread remembers from before a fork must not hold in the child: generations of two processes differ. */
	if (!contexts()->generation)
		__atomic_store_n(&contexts()->generation, segment_now_ns() | 1, __ATOMIC_RELEASE);
	return 0;
}

static const struct device *resolve(CUcontext handle, uint64_t generation)
{
	const struct device *device;
	struct context *context;
	CUdevice ordinal;

	if (real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
		return NULL;
	device = device_at(ordinal);
	if (!device)
		return NULL;
	lock_take(&contexts()->lock);
	HASH_FIND_PTR(contexts()->table, &handle, context);
	current.serial = context ? context->serial : home_of(device)->primary;
	lock_give(&contexts()->lock);
	current.context = handle;
	current.device = device;
	current.generation = generation;
	return device;
}

const struct device *device_current(void)
{
	uint64_t generation;
	CUcontext handle;

	if (__builtin_expect(process_now() != PROCESS_READY, 0))
		return NULL;
	if (real.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || !handle)
		return NULL;
	generation = __atomic_load_n(&contexts()->generation, __ATOMIC_ACQUIRE);
	if (__builtin_expect(current.context == handle && current.generation == generation, 1))
		return current.device;
	return resolve(handle, generation);
}

uint32_t context_serial(void)
{
	return current.serial;
}

static void lock_home(struct context_change *change)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &change->cancel);
	pthread_mutex_lock(&home_of(change->device)->making);
	change->moving = quiet_move();
}

static void unlock_home(struct context_change *change)
{
	quiet_moved(change->moving);
	pthread_mutex_unlock(&home_of(change->device)->making);
	pthread_setcancelstate(change->cancel, NULL);
}

CUresult context_make(struct context_change *change, enum context_call call, CUdevice ordinal)
{
	const struct home *home;
	CUresult rc;

	*change = (struct context_change){.device = device_at(ordinal), .ordinal = ordinal, .call = call};
	rc = state_permits();
	if (rc != CUDA_SUCCESS || !change->device)
		return rc;
	lock_home(change);
	home = home_of(change->device);
	if (call != CONTEXT_CREATE && home->primary)
		return CUDA_SUCCESS;
	change->fresh = true;
	change->wants_spare = !home->spare;
	rc = cost_charge(change);
	if (rc != CUDA_SUCCESS)
		unlock_home(change);
	return rc;
}

static bool primary_is_active(CUdevice ordinal, bool otherwise)
{
	unsigned flags;
	int active;

	return real.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) == CUDA_SUCCESS ? active != 0 : otherwise;
}

static void undo(const struct context_change *change, const CUcontext *context)
{
	if (change->call == CONTEXT_RETAIN)
		real.cuDevicePrimaryCtxRelease_v2(change->ordinal);
	else if (change->call == CONTEXT_CREATE)
		real.cuCtxDestroy_v2(*context);
}

static uint32_t next_serial(void)
{
	if (!++contexts()->serial)
		++contexts()->serial;
	return contexts()->serial;
}

/* Threads look their contexts up again: one that had no serial has one now. */
static void forget_current(void)
{
	__atomic_add_fetch(&contexts()->generation, 1, __ATOMIC_SEQ_CST);
}

static int enter(const struct context_change *change, const CUcontext *handle)
{
	struct home *const home = home_of(change->device);
	struct context *context = NULL, *old = NULL;

	if (change->call == CONTEXT_CREATE) {
		context = calloc(1, sizeof(*context));
		if (!context)
			return -ENOMEM;
		context->handle = *handle;
		context->units = change->units;
		context->device = (uint8_t)device_index(change->device);
		context->references = 1;
	}
	lock_take(&contexts()->lock);
	if (change->seat != seat_now(change->device)) /* the place was lost meanwhile, and the charge with it */
		change->seat = seat_force(change->device, change->units + change->spare);
	if (context) {
		context->seat = change->seat;
		context->serial = next_serial();
		/* The driver gives a handle again only after its context ended, of which we were not told. */
		HASH_FIND_PTR(contexts()->table, handle, old);
		if (old)
			HASH_DEL(contexts()->table, old);
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
	forget_current();
	home->count++;
	seat_count(change->device, CUQUOTA_CONTEXT, (int64_t)change->units + change->spare);
	if (old) {
		seat_refund(device_by_index(old->device), old->seat, old->units);
		home_of(device_by_index(old->device))->count--;
		free(old);
	}
	return 0;
}

CUresult context_made(struct context_change *change, CUresult rc, const CUcontext *context)
{
	bool settled = true;

	if (!change->device) {
		/* A device that we did not join made a context: nobody would count what it allocates. */
		if (rc == CUDA_SUCCESS && !state_aside() && context) {
			undo(change, context);
			rc = CUDA_ERROR_NOT_PERMITTED;
		}
		return rc;
	}
	if (!change->fresh) {
		unlock_home(change);
		return rc;
	}
	if (rc == CUDA_SUCCESS)
		settled = cost_settle(change, context);
	if (rc == CUDA_SUCCESS && (!settled || enter(change, context))) {
		undo(change, context);
		rc = cost_refuse(change);
	}
	if (rc != CUDA_SUCCESS)
		cost_refund(change);
	unlock_home(change);
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

/* The end of a context, after the driver ended it: it takes its blocks along. Its record is out of the tables. */
static void ended(const struct device *device, uint32_t serial, uint8_t seat, uint32_t units)
{
	struct home *const home = home_of(device);
	uint32_t spare = 0;
	uint8_t spare_seat;

	forget_current();
	block_epoch_raise();
	extent_drop_context(serial);
	block_drop_context(serial, give_whole, give_small);
	lock_take(&contexts()->lock);
	spare_seat = home->spare_seat;
	if (--home->count == 0)
		spare = __atomic_exchange_n(&home->spare, 0, __ATOMIC_ACQ_REL);
	lock_give(&contexts()->lock);
	seat_refund(device, spare_seat, spare);
	seat_refund(device, seat, units);
	seat_count(device, CUQUOTA_CONTEXT, -(int64_t)units - spare);
}

void context_release(struct context_change *change, CUdevice ordinal)
{
	*change = (struct context_change){
		.device = device_at(ordinal), .ordinal = ordinal, .call = CONTEXT_RELEASE};
	if (change->device)
		lock_home(change);
}

CUresult context_released(struct context_change *change, CUresult rc)
{
	struct home was, *home;

	if (!change->device)
		return rc;
	home = home_of(change->device);
	if (rc == CUDA_SUCCESS && home->primary && !primary_is_active(change->ordinal, true)) {
		lock_take(&contexts()->lock);
		was = *home;
		home->primary = 0;
		lock_give(&contexts()->lock);
		ended(change->device, was.primary, was.primary_seat, was.primary_units);
	}
	unlock_home(change);
	return rc;
}

void context_destroy(struct context_change *change, CUcontext handle)
{
	struct context *context;

	*change = (struct context_change){.call = CONTEXT_DESTROY};
	if (process_mode() != PROCESS_READY)
		return;
	if (!handle && real.cuCtxGetCurrent(&handle) != CUDA_SUCCESS)
		return;
	lock_take(&contexts()->lock);
	HASH_FIND_PTR(contexts()->table, &handle, context);
	if (context)
		change->device = device_by_index(context->device);
	lock_give(&contexts()->lock);
	change->context = handle;
	if (change->device)
		lock_home(change);
}

CUresult context_destroyed(struct context_change *change, CUresult rc)
{
	struct context *context = NULL;

	if (!change->device)
		return rc;
	if (rc == CUDA_SUCCESS) {
		lock_take(&contexts()->lock);
		HASH_FIND_PTR(contexts()->table, &change->context, context);
		if (context && --context->references)
			context = NULL;
		if (context)
			HASH_DEL(contexts()->table, context);
		lock_give(&contexts()->lock);
	}
	if (context) {
		ended(change->device, context->serial, context->seat, context->units);
		free(context);
	}
	unlock_home(change);
	return rc;
}

void context_attached(CUcontext handle)
{
	struct context *context;

	if (process_mode() != PROCESS_READY)
		return;
	lock_take(&contexts()->lock);
	HASH_FIND_PTR(contexts()->table, &handle, context);
	if (context)
		context->references++;
	lock_give(&contexts()->lock);
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
