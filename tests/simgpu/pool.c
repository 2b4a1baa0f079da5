/*
 * See pool.h. A block's room is a power of two that stays with its address for ever; there is far
 * more address space than memory. Fragmentation is not modelled: what is free in a pool can be had
 * in one piece.
 */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT_SHIFT = 16,
       ROOM_MAX = 40,
       HANDED_UNIT = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *pools;
static struct pool *first[CARDS_MAX], *current[CARDS_MAX];
static struct pool_block *free_block[ROOM_MAX + 1];
static char *range, *range_next;
static size_t range_size = 1ULL << 43; /* less where the address space is smaller */
static struct pool_block **unit;       /* of 64 KiB: the block that it is of */
static uint64_t last_id;

static uint64_t rounded(const uint64_t bytes, const uint64_t step)
{
	return (bytes + step - 1) / step * step;
}

static uint64_t grain(void)
{
	return config_get()->exact ? ACCOUNT_UNIT : config_get()->grain;
}

/* Under the lock, as all that follow. */
static bool reserve(struct pool *pool, const uint64_t bytes)
{
	bool locked;
	int rc = 0;

	if (pool->most && pool->reserved + bytes > pool->most)
		return false;
	if (pool->card >= 0) {
		locked = sim_lock();
		rc = account_charge(&sim.account, (unsigned int)pool->card, account_units(bytes),
				    false);
		sim_unlock(locked);
	}
	if (rc)
		return false;
	pool->reserved += bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	return true;
}

static void give_back(struct pool *pool, const uint64_t down_to)
{
	bool locked;

	if (down_to >= pool->reserved)
		return;
	if (pool->card >= 0) {
		locked = sim_lock();
		account_refund(&sim.account, (unsigned int)pool->card,
			       account_units(pool->reserved - down_to));
		sim_unlock(locked);
	}
	pool->reserved = down_to;
}

/* What must stay where `keep` bytes are wished to. */
static void shrink(struct pool *pool, const uint64_t keep)
{
	give_back(pool, rounded(keep > pool->used ? keep : pool->used, grain()));
}

static bool grow(struct pool *pool, const uint64_t bytes)
{
	uint64_t more;

	if (pool->used + bytes <= pool->reserved)
		return true;
	more = pool->used + bytes - pool->reserved;
	return reserve(pool, rounded(more, rounded(config_get()->pool_step, grain()))) ||
	       reserve(pool, rounded(more, grain()));
}

static bool map_range(void)
{
	while (!range) {
		range = mmap(NULL, range_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (range != MAP_FAILED)
			break;
		range = NULL;
		range_size /= 2;
		if (range_size < 1ULL << 30)
			return false;
	}
	madvise(range, range_size, MADV_DONTDUMP);
	madvise(range, range_size, MADV_DONTFORK);
	range_next = range;
	unit = mmap(NULL, (range_size >> UNIT_SHIFT) * sizeof(struct pool_block *),
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return unit != MAP_FAILED;
}

static struct pool_block *make_room(const uint32_t shift)
{
	struct pool_block *block;
	size_t i;

	if (!unit && !map_range())
		return NULL;
	if (range_size - (size_t)(range_next - range) < 1ULL << shift)
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->base = (CUdeviceptr)(uintptr_t)range_next;
	block->shift = shift;
	for (i = 0; i < 1ULL << (shift - UNIT_SHIFT); i++)
		unit[((size_t)(range_next - range) >> UNIT_SHIFT) + i] = block;
	range_next += 1ULL << shift;
	return block;
}

static struct pool_block *take_block(const size_t bytes)
{
	uint32_t shift = UNIT_SHIFT;
	struct pool_block *block;

	while (bytes > 1ULL << shift)
		shift++;
	if (shift > ROOM_MAX)
		return NULL;
	block = free_block[shift];
	if (block)
		free_block[shift] = block->next_free;
	else
		block = make_room(shift);
	return block;
}

static struct pool_block *find(const CUdeviceptr at)
{
	const uint64_t offset = at - (uint64_t)(uintptr_t)range;
	struct pool_block *block;

	if (!unit || offset >= range_size)
		return NULL;
	block = unit[offset >> UNIT_SHIFT];
	return block && at - block->base < block->bytes ? block : NULL;
}

static uint64_t taken(const size_t bytes)
{
	return rounded(bytes, HANDED_UNIT);
}

static void drop_ended(struct pool *pool)
{
	struct pool **at = &pools;

	if (!pool->ended || pool->blocks)
		return;
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	free(pool);
}

CUresult pool_alloc(struct pool *pool, const size_t bytes, CUdeviceptr *at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = grow(pool, taken(bytes)) ? take_block(bytes) : NULL;
	if (block) {
		block->bytes = bytes;
		block->pool = pool;
		block->id = ++last_id;
		pool->blocks++;
		pool->used += taken(bytes);
		if (pool->used > pool->used_high)
			pool->used_high = pool->used;
		*at = block->base;
	}
	pthread_mutex_unlock(&lock);
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult pool_free(const CUdeviceptr at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = find(at);
	if (block && block->base == at) {
		struct pool *const pool = block->pool;

		if (block->touched)
			madvise((void *)at, block->bytes, MADV_DONTNEED);
		pool->used -= taken(block->bytes);
		pool->blocks--;
		block->bytes = 0;
		block->touched = false;
		block->next_free = free_block[block->shift];
		free_block[block->shift] = block;
		if (pool->ended)
			shrink(pool, 0);
		drop_ended(pool);
	} else {
		block = NULL;
	}
	pthread_mutex_unlock(&lock);
	return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void pool_trim(struct pool *pool, const uint64_t keep)
{
	pthread_mutex_lock(&lock);
	shrink(pool, keep);
	pthread_mutex_unlock(&lock);
}

void pool_synchronized(void)
{
	struct pool *pool;

	if (!__atomic_load_n(&pools, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&lock);
	for (pool = pools; pool; pool = pool->next)
		if (pool->reserved > pool->threshold)
			shrink(pool, pool->threshold);
	pthread_mutex_unlock(&lock);
}

bool pool_find(const CUdeviceptr at, struct pool_block *block)
{
	const struct pool_block *found;

	pthread_mutex_lock(&lock);
	found = find(at);
	if (found)
		*block = *found;
	pthread_mutex_unlock(&lock);
	return found != NULL;
}

bool pool_touch(const CUdeviceptr at, const size_t bytes)
{
	struct pool_block *block;
	bool covers;

	pthread_mutex_lock(&lock);
	block = find(at);
	covers = block && bytes <= block->bytes - (at - block->base);
	if (covers)
		block->touched = true;
	pthread_mutex_unlock(&lock);
	return covers;
}

/* The application's handle is the object's address, but the object outlives it. */
struct pool *pool_get(const CUmemoryPool handle)
{
	struct pool *pool;

	pthread_mutex_lock(&lock);
	for (pool = pools; pool && (pool->ended || (CUmemoryPool)pool != handle);)
		pool = pool->next;
	pthread_mutex_unlock(&lock);
	return pool;
}

static struct pool *make(const CUmemPoolProps *props, const int card)
{
	struct pool *const pool = calloc(1, sizeof(*pool));
	unsigned int i;

	if (!pool)
		return NULL;
	pool->card = card;
	pool->props = *props;
	pool->most = props->maxSize;
	pool->access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	for (i = 0; i < 3; i++)
		pool->reuse[i] = 1;
	pool->next = pools;
	__atomic_store_n(&pools, pool, __ATOMIC_RELEASE);
	return pool;
}

CUresult pool_new(const CUmemPoolProps *props, const int card, struct pool **made)
{
	pthread_mutex_lock(&lock);
	*made = make(props, card);
	pthread_mutex_unlock(&lock);
	return *made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct pool *default_locked(const unsigned int card)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};

	if (!first[card]) {
		props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		props.location.id = device_of_card(card);
		first[card] = make(&props, (int)card);
	}
	return first[card];
}

struct pool *pool_default(const unsigned int card)
{
	struct pool *pool;

	pthread_mutex_lock(&lock);
	pool = default_locked(card);
	pthread_mutex_unlock(&lock);
	return pool;
}

struct pool *pool_current(const unsigned int card)
{
	struct pool *pool;

	pthread_mutex_lock(&lock);
	pool = current[card] ? current[card] : default_locked(card);
	pthread_mutex_unlock(&lock);
	return pool;
}

CUresult pool_set_current(const unsigned int card, struct pool *pool)
{
	if (pool->card != (int)card)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	current[card] = pool;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult pool_end(struct pool *pool)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < CARDS_MAX; i++) {
		if (first[i] == pool) {
			pthread_mutex_unlock(&lock);
			return CUDA_ERROR_INVALID_VALUE;
		}
		if (current[i] == pool)
			current[i] = NULL;
	}
	pool->ended = true;
	shrink(pool, 0);
	drop_ended(pool);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
