/*
 * The pools of this process and what is charged for each. See pool.h.
 */
#include "policy/pool.h"
#include "policy/process.h"
#include "policy/room.h"
#include "policy/seat.h"
#include "policy/turn.h"
#include "base/wiped.h"

#include <errno.h>
#include <string.h>

struct pools {
	struct turn turn;
	uint32_t count, room;
	struct pool_entry *entry;
};

static void *memory;
uint32_t pool_watched, pool_ended;

static struct pools *pools(void)
{
	return memory;
}

int pool_start(void)
{
	if (!wiped_once(&memory, sizeof(struct pools)))
		return -ENOMEM;
	turn_start(&pools()->turn);
	return 0;
}

int pool_lock(void)
{
	return turn_take(&pools()->turn);
}

void pool_unlock(int cancel)
{
	turn_give(&pools()->turn, cancel);
}

static uint64_t figure(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t otherwise)
{
	cuuint64_t bytes;

	return real.cuMemPoolGetAttribute(pool, attribute, &bytes) == CUDA_SUCCESS ? bytes
										   : otherwise;
}

uint64_t pool_unused(CUmemoryPool pool)
{
	const uint64_t reserved = figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 0);
	const uint64_t used = figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, reserved);

	return reserved > used ? reserved - used : 0;
}

static struct pool_entry *find(CUmemoryPool pool, bool ended)
{
	for (uint32_t i = 0; i < pools()->count; i++)
		if (pools()->entry[i].pool == pool && pools()->entry[i].ended == ended)
			return &pools()->entry[i];
	return NULL;
}

struct pool_entry *pool_find(CUmemoryPool pool)
{
	return find(pool, false);
}

struct pool_entry *pool_add(CUmemoryPool pool, const struct device *device)
{
	struct pools *const all = pools();

	if (all->count == all->room) {
		const uint32_t room = all->room ? 2 * all->room : 64;
		struct pool_entry *const more = room_take(room * sizeof(*more));

		if (!more)
			return NULL;
		if (all->count)
			memcpy(more, all->entry, all->count * sizeof(*more));
		room_give(all->entry, all->room * sizeof(*more));
		all->entry = more;
		all->room = room;
	}
	all->entry[all->count] = (struct pool_entry){.pool = pool, .charged = device != NULL};
	if (device) {
		all->entry[all->count].device = device_index(device);
		all->entry[all->count].seat = seat_now(device);
	}
	return &all->entry[all->count++];
}

static void set(struct pool_entry *entry, uint32_t units)
{
	if (units != entry->units)
		seat_count(device_by_index(entry->device), CUQUOTA_POOL,
			   (int64_t)units - entry->units);
	entry->units = units;
	if (units)
		__atomic_store_n(&pool_watched, 1, __ATOMIC_RELEASE);
}

/* What was charged in a lost place is charged anew, as a whole. */
static void follow(struct pool_entry *entry)
{
	const struct device *const device = device_by_index(entry->device);

	if (entry->seat == seat_now(device))
		return;
	entry->seat = seat_now(device);
	if (entry->units)
		seat_force(device, entry->units);
}

uint32_t pool_settle(struct pool_entry *entry, uint8_t seat, uint32_t spare)
{
	const struct device *const device = device_by_index(entry->device);
	uint32_t now, more;

	follow(entry);
	if (seat != entry->seat)
		spare = 0;
	now = seat_units(figure(entry->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
				(uint64_t)(entry->units + spare) * CUQUOTA_UNIT));
	if (now < entry->units)
		seat_refund(device, entry->seat, entry->units - now);
	more = now > entry->units ? now - entry->units : 0;
	/* Also what another call in flight let it grow by, which then keeps none of its claim. */
	if (more > spare)
		seat_force(device, more - spare);
	set(entry, now);
	return more < spare ? more : spare;
}

/* In the turn. Of an ended one only its blocks tell. */
static void look(struct pool_entry *entry)
{
	if (entry->charged && !entry->ended && entry->units)
		pool_settle(entry, entry->seat, 0);
}

void pool_look(void)
{
	const int kept = errno;
	int cancel;

	if (process_mode() != PROCESS_READY)
		return;
	cancel = pool_lock();
	for (uint32_t i = 0; i < pools()->count; i++)
		look(&pools()->entry[i]);
	pool_unlock(cancel);
	errno = kept;
}

bool pool_relieve(const struct device *device)
{
	const int kept = errno;
	uint32_t before = 0, after = 0;
	int cancel;

	if (!__atomic_load_n(&pool_watched, __ATOMIC_RELAXED) || capturing())
		return false;
	cancel = pool_lock();
	for (uint32_t i = 0; i < pools()->count; i++) {
		struct pool_entry *const entry = &pools()->entry[i];

		if (!entry->charged || entry->ended || entry->device != device_index(device))
			continue;
		before += entry->units;
		if (pool_unused(entry->pool))
			real.cuMemPoolTrimTo(entry->pool, 0);
		look(entry);
		after += entry->units;
	}
	pool_unlock(cancel);
	errno = kept;
	return after < before;
}

void pool_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units))
{
	const int cancel = pool_lock();

	for (uint32_t i = 0; i < pools()->count; i++) {
		struct pool_entry *const entry = &pools()->entry[i];

		if (!entry->charged || entry->device != device || entry->seat == seat)
			continue;
		entry->seat = seat;
		adopt(device, entry->units);
	}
	pool_unlock(cancel);
}

void pool_made(CUmemoryPool pool, const CUmemPoolProps *props)
{
	const struct device *device = NULL;
	int cancel;

	if (process_now() != PROCESS_READY)
		return;
	if ((int)props->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		device = device_at(props->location.id);
	else if ((int)props->location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN)
		device = device_at(props->location.localized.deviceId);
	cancel = pool_lock();
	pool_add(pool, device);
	pool_unlock(cancel);
}

/* Refunds down to what the blocks of an ended pool use. */
static void end(struct pool_entry *entry, uint64_t used)
{
	const struct device *const device = device_by_index(entry->device);
	const uint32_t grain = entry->charged ? device->grain : 1;
	const uint32_t units = (seat_units(used) + grain - 1) / grain * grain;

	if (entry->charged && units < entry->units) {
		follow(entry);
		seat_refund(device, entry->seat, entry->units - units);
		set(entry, units);
	}
	entry->used = used;
	if (!entry->ended)
		__atomic_add_fetch(&pool_ended, 1, __ATOMIC_RELAXED);
	entry->ended = true;
	if (used)
		return;
	__atomic_sub_fetch(&pool_ended, 1, __ATOMIC_RELAXED);
	*entry = pools()->entry[--pools()->count];
}

CUresult pool_end(CUmemoryPool pool)
{
	struct pool_entry *entry = NULL;
	uint64_t used = 0;
	CUresult rc;
	int cancel;

	if (process_now() != PROCESS_READY)
		return real.cuMemPoolDestroy(pool);
	cancel = pool_lock();
	entry = pool_find(pool);
	if (entry)
		used = figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
			      (uint64_t)entry->units * CUQUOTA_UNIT);
	rc = real.cuMemPoolDestroy(pool);
	if (rc == CUDA_SUCCESS && entry)
		end(entry, used);
	pool_unlock(cancel);
	return rc;
}

void pool_free_open(struct pool_block *block, CUdeviceptr pointer)
{
	CUdeviceptr base;

	*block = (struct pool_block){.bytes = 0};
	if (process_mode() != PROCESS_READY ||
	    real.cuPointerGetAttribute(&block->pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
				       pointer) != CUDA_SUCCESS)
		block->pool = NULL;
	if (block->pool && __atomic_load_n(&pool_ended, __ATOMIC_RELAXED) &&
	    real.cuMemGetAddressRange_v2(&base, &block->bytes, pointer) != CUDA_SUCCESS)
		block->bytes = 0;
}

CUresult pool_free_close(const struct pool_block *block, CUresult rc)
{
	struct pool_entry *entry;
	int cancel;

	if (rc != CUDA_SUCCESS || !block->bytes)
		return rc;
	cancel = pool_lock();
	entry = find(block->pool, true);
	if (entry)
		end(entry, entry->used > block->bytes ? entry->used - block->bytes : 0);
	pool_unlock(cancel);
	return rc;
}
