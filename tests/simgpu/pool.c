/*
 * See pool.h. Fragmentation is not modelled: what is free in a pool can be had in one piece.
 */
#include "pool_address.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT_SHIFT = 16,
       ROOM_MAX = 40,
       HANDED_UNIT = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *pools;
static struct pool *first[CARDS_MAX], *current[CARDS_MAX], *graphs[CARDS_MAX];
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

static struct pool_block *find_backed(const CUdeviceptr at)
{
	struct pool_block *const block = address_find(at);

	return block && block->backed ? block : NULL;
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

static void back(struct pool_block *block)
{
	struct pool *const pool = block->pool;

	block->backed = true;
	pool->blocks++;
	pool->used += taken(block->bytes);
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
}

static void unback(struct pool_block *block)
{
	struct pool *const pool = block->pool;

	if (block->touched)
		madvise((void *)block->base, block->bytes, MADV_DONTNEED);
	pool->used -= taken(block->bytes);
	pool->blocks--;
	block->touched = block->backed = false;
	if (!block->node)
		address_give(block);
}

CUresult pool_node_new(struct pool *pool, const size_t bytes, CUdeviceptr *at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = address_take(bytes);
	if (block) {
		block->bytes = bytes;
		block->pool = pool;
		block->id = ++last_id;
		block->node = true;
		*at = block->base;
	}
	pthread_mutex_unlock(&lock);
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void pool_node_end(const CUdeviceptr at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = address_find(at);
	/* What it still holds is the application's to free. */
	if (block && block->node && block->backed)
		block->node = false;
	else if (block && block->node)
		address_give(block);
	pthread_mutex_unlock(&lock);
}

CUresult pool_node_back(const CUdeviceptr at)
{
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = address_find(at);
	if (!block || block->backed) {
		rc = block ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_INVALID_VALUE;
	} else if (grow(block->pool, taken(block->bytes))) {
		back(block);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUresult pool_alloc(struct pool *pool, const size_t bytes, CUdeviceptr *at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = grow(pool, taken(bytes)) ? address_take(bytes) : NULL;
	if (block) {
		block->bytes = bytes;
		block->pool = pool;
		block->id = ++last_id;
		back(block);
		*at = block->base;
	}
	pthread_mutex_unlock(&lock);
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult pool_free(const CUdeviceptr at)
{
	struct pool_block *block;

	pthread_mutex_lock(&lock);
	block = find_backed(at);
	if (block && block->base == at) {
		struct pool *const pool = block->pool;

		unback(block);
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
	found = find_backed(at);
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
	block = find_backed(at);
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

struct pool *pool_of_graphs(const unsigned int card)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
	struct pool *pool;

	pthread_mutex_lock(&lock);
	if (!graphs[card]) {
		graphs[card] = make(&props, (int)card);
		if (graphs[card])
			graphs[card]->threshold = UINT64_MAX;
	}
	pool = graphs[card];
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
