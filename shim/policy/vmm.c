/*
 * Handles and mappings. See vmm.h.
 *
 * `allocation` is the physical memory; handles and ranges point to it and are counted in it. What
 * the driver does with references and what is written here must come in the same order: a release
 * that is written before a mapping which the driver made first would refund what the mapping still
 * holds. So calls that move references are made one by one, under `calling`. So is cuMemCreate:
 * drivers give the numbers of handles again, and a thread that still has an old one could map what
 * another is just being given, before it is written here.
 */
#include "policy/vmm.h"
#include "policy/lock.h"
#include "policy/process.h"
#include "policy/refuse.h"
#include "policy/seat.h"
#include "policy/turn.h"
#include "policy/small.h"
#include "base/wiped.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct allocation {
	uint32_t units;
	uint32_t users; /* handles' references and ranges */
	uint8_t device;
	uint8_t seat;
	struct allocation *next, *previous; /* all of them */
};

struct handle {
	CUmemGenericAllocationHandle key;
	uint32_t references;
	struct allocation *allocation;
	UT_hash_handle hh;
};

struct range {
	CUdeviceptr key; /* where it begins */
	size_t bytes;
	struct allocation *allocation;
	UT_hash_handle hh;
};

struct vmm {
	struct turn calling; /* held over the driver's call; outside `lock` */
	struct lock lock;    /* of the tables */
	struct handle *handles;
	struct range *ranges;
	struct allocation *all;
};

static void *memory;

static struct vmm *vmm(void)
{
	return memory;
}

int vmm_start(void)
{
	if (!wiped_once(&memory, sizeof(struct vmm)))
		return -ENOMEM;
	turn_start(&vmm()->calling);
	return 0;
}

CUresult vmm_create_from(const void *caller, struct claim *claim, const CUmemAllocationProp *prop,
			 size_t bytes)
{
	const CUmemLocation nowhere = {0}, *const location = prop ? &prop->location : &nowhere;
	const struct device *device = NULL;
	CUresult rc = CUDA_SUCCESS;
	bool charged = false;

	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		device = device_at(location->id);
		charged = true;
		break;
	case CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN:
		device = device_at(location->localized.deviceId);
		charged = true;
		break;
	case CU_MEM_LOCATION_TYPE_INVALID:
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		break;
	default: /* a place that a later driver may know and that nobody can charge */
		rc = claim_uncharged("cuMemCreate");
	}
	if (rc == CUDA_SUCCESS)
		rc = claim_open_from(caller, claim, FAMILY_VMM, device, bytes);
	if (!charged && rc == CUDA_SUCCESS)
		claim->aside = true;
	return rc;
}

/* Locked. */
static void leave(struct allocation *allocation, uint32_t users)
{
	const struct device *const device = device_by_index(allocation->device);

	allocation->users -= users;
	if (allocation->users)
		return;
	seat_refund(device, allocation->seat, allocation->units);
	seat_count(device, CUQUOTA_VMM, -(int64_t)allocation->units);
	if (allocation->next)
		allocation->next->previous = allocation->previous;
	if (allocation->previous)
		allocation->previous->next = allocation->next;
	else
		vmm()->all = allocation->next;
	free(allocation);
}

static void drop_handle(struct handle *handle, uint32_t references)
{
	struct allocation *const allocation = handle->allocation;
	const uint32_t gone = references < handle->references ? references : handle->references;

	handle->references -= gone;
	if (!handle->references) {
		HASH_DEL(vmm()->handles, handle);
		free(handle);
	}
	leave(allocation, gone);
}

static void drop_range(struct range *range)
{
	struct allocation *const allocation = range->allocation;

	HASH_DEL(vmm()->ranges, range);
	free(range);
	leave(allocation, 1);
}

static struct handle *find_handle(CUmemGenericAllocationHandle key)
{
	struct handle *handle;

	HASH_FIND(hh, vmm()->handles, &key, sizeof(key), handle);
	return handle;
}

static bool add_handle(CUmemGenericAllocationHandle key, struct allocation *allocation)
{
	struct handle *const old = find_handle(key);
	struct handle *handle;

	if (old)
		drop_handle(old, old->references);
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return false;
	handle->key = key;
	handle->references = 1;
	handle->allocation = allocation;
	allocation->users++;
	HASH_ADD(hh, vmm()->handles, key, sizeof(key), handle);
	return true;
}

static bool enter(const struct claim *claim, CUmemGenericAllocationHandle key)
{
	struct allocation *const allocation = calloc(1, sizeof(*allocation));
	bool entered;

	if (!allocation)
		return false;
	allocation->units = claim->units;
	allocation->device = device_index(claim->device);
	lock_take(&vmm()->lock);
	allocation->seat = claim->seat == seat_now(claim->device)
				   ? claim->seat
				   : seat_force(claim->device, claim->units);
	allocation->next = vmm()->all;
	if (allocation->next)
		allocation->next->previous = allocation;
	vmm()->all = allocation;
	seat_count(claim->device, CUQUOTA_VMM, claim->units);
	allocation->users = 1; /* this function's, until the handle has one */
	entered = add_handle(key, allocation);
	leave(allocation, 1); /* without a handle this refunds it */
	lock_give(&vmm()->lock);
	return entered;
}

static void release_it(uint64_t handle)
{
	real.cuMemRelease((CUmemGenericAllocationHandle)handle);
}

void vmm_ask(struct vmm_call *call, const struct claim *claim)
{
	call->alone = claim->device != NULL;
	if (call->alone)
		call->cancel = turn_take(&vmm()->calling);
}

bool vmm_again(struct vmm_call *call, struct claim *claim, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		return false;
	if (call->alone)
		turn_give(&vmm()->calling, call->cancel);
	call->alone = false;
	return claim_again(claim, rc);
}

CUresult vmm_created(struct vmm_call *call, struct claim *claim, CUresult rc,
		     const CUmemGenericAllocationHandle *handle)
{
	bool entered;

	if (!claim->device)
		return claim_close_without_device(claim, rc, release_it,
						  rc == CUDA_SUCCESS ? *handle : 0);
	if (rc != CUDA_SUCCESS)
		return claim_fail(claim, rc);
	entered = enter(claim, *handle);
	if (!entered)
		release_it(*handle);
	turn_give(&vmm()->calling, call->cancel);
	if (!entered)
		rc = refuse_excess(claim->device, "a handle, which was tried and given back",
				   claim->bytes);
	claim_finish(claim);
	return rc;
}

void vmm_begin_from(const void *caller, struct vmm_call *call)
{
	call->alone = process_entered(caller) && process_mode() == PROCESS_READY;
	if (call->alone)
		call->cancel = turn_take(&vmm()->calling);
}

/* Whether something is to be written: then the tables are locked. */
static bool write_begin(const struct vmm_call *call, CUresult rc)
{
	if (!call->alone || rc != CUDA_SUCCESS)
		return false;
	lock_take(&vmm()->lock);
	return true;
}

static CUresult end(const struct vmm_call *call, CUresult rc)
{
	if (call->alone)
		turn_give(&vmm()->calling, call->cancel);
	process_left();
	return rc;
}

CUresult vmm_released(struct vmm_call *call, CUresult rc, CUmemGenericAllocationHandle key)
{
	if (write_begin(call, rc)) {
		struct handle *const handle = find_handle(key);

		if (handle)
			drop_handle(handle, 1);
		lock_give(&vmm()->lock);
	}
	return end(call, rc);
}

static void unmap(CUdeviceptr address, size_t bytes)
{
	struct range *range, *next;

	HASH_FIND(hh, vmm()->ranges, &address, sizeof(address), range);
	if (range && range->bytes == bytes) {
		drop_range(range);
		return;
	}
	HASH_ITER(hh, vmm()->ranges, range, next)
	{
		if (range->key - address < bytes)
			drop_range(range);
	}
}

CUresult vmm_unmapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes)
{
	if (write_begin(call, rc)) {
		unmap(address, bytes);
		lock_give(&vmm()->lock);
	}
	return end(call, rc);
}

static void map(CUdeviceptr address, size_t bytes, struct handle *handle)
{
	struct range *const range = calloc(1, sizeof(*range));
	struct range *old;

	handle->allocation->users++; /* without a range never refunded, rather than too early */
	if (!range)
		return;
	HASH_FIND(hh, vmm()->ranges, &address, sizeof(address), old);
	if (old)
		drop_range(old);
	range->key = address;
	range->bytes = bytes;
	range->allocation = handle->allocation;
	HASH_ADD(hh, vmm()->ranges, key, sizeof(address), range);
}

CUresult vmm_mapped(struct vmm_call *call, CUresult rc, CUdeviceptr address, size_t bytes,
		    CUmemGenericAllocationHandle key)
{
	if (write_begin(call, rc)) {
		struct handle *const handle = find_handle(key);

		if (handle)
			map(address, bytes, handle);
		lock_give(&vmm()->lock);
	}
	return end(call, rc);
}

static struct allocation *allocation_at(CUdeviceptr address)
{
	struct range *range, *next;

	HASH_FIND(hh, vmm()->ranges, &address, sizeof(address), range);
	if (range)
		return range->allocation;
	HASH_ITER(hh, vmm()->ranges, range, next)
	{
		if (address - range->key < range->bytes)
			return range->allocation;
	}
	return NULL;
}

static void retain(CUmemGenericAllocationHandle key, CUdeviceptr address)
{
	struct handle *const handle = find_handle(key);
	struct allocation *const allocation = handle ? handle->allocation : allocation_at(address);

	if (handle) {
		handle->references++;
		allocation->users++;
	} else if (allocation && !add_handle(key, allocation)) {
		allocation->users++;
	}
}

CUresult vmm_retained(struct vmm_call *call, CUresult rc, const CUmemGenericAllocationHandle *key,
		      const void *address)
{
	if (write_begin(call, rc)) {
		retain(*key, (CUdeviceptr)(uintptr_t)address);
		lock_give(&vmm()->lock);
	}
	return end(call, rc);
}

void vmm_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	lock_take(&vmm()->lock);
	for (struct allocation *allocation = vmm()->all; allocation;
	     allocation = allocation->next) {
		if (allocation->device != device || allocation->seat == seat)
			continue;
		allocation->seat = seat;
		adopt(device, allocation->units);
	}
	lock_give(&vmm()->lock);
}
