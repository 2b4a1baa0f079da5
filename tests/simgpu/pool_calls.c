/*
 * The entry points of stream-ordered memory and its pools. Nothing is exported or imported yet.
 */
#include "graph.h"
#include "heap.h"
#include "pool.h"
#include "stream.h"

#include <string.h>

static CUresult alloc(struct pool *pool, const size_t bytes, CUdeviceptr *dptr)
{
	if (!dptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return pool ? pool_alloc(pool, bytes, dptr) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
      (dptr, bytesize, hStream))
{
	const CUgraph graph = capture_graph(hStream);
	unsigned int card;
	const CUresult rc = stream_card(hStream, &card);

	if (rc)
		return rc;
	if (graph)
		return dptr ? graph_add_alloc(graph, card, bytesize, dptr, NULL)
			    : CUDA_ERROR_INVALID_VALUE;
	return alloc(pool_current(card), bytesize, dptr);
}

CUAPI(cuMemAllocFromPoolAsync,
      (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
      (dptr, bytesize, pool, hStream))
{
	struct pool *const from = pool_get(pool);
	const CUgraph graph = capture_graph(hStream);
	unsigned int card;
	const CUresult rc = stream_card(hStream, &card);

	if (rc)
		return rc;
	if (graph && from && from->card >= 0 && dptr)
		return graph_add_alloc(graph, (unsigned int)from->card, bytesize, dptr, NULL);
	return from ? alloc(from, bytesize, dptr) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream))
{
	unsigned int card;
	CUresult rc = stream_card(hStream, &card);

	if (rc || !dptr)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	if (capture_graph(hStream))
		return graph_add_free(capture_graph(hStream), dptr, NULL);
	rc = pool_free(dptr);
	/* Also what cuMemAlloc gave [D]. */
	return rc ? heap_free(dptr) : rc;
}

/* The card of a location, -1 for host memory. False: not a valid one. */
static bool location_card(const CUmemLocation *location, int *card)
{
	unsigned int number;

	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*card = -1;
		return true;
	case CU_MEM_LOCATION_TYPE_DEVICE:
		break;
	default:
		return false;
	}
	if (device_card(location->id, &number))
		return false;
	*card = (int)number;
	return true;
}

CUAPI(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps), (pool, poolProps))
{
	struct pool *made;
	CUresult rc;
	int card;

	if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    !location_card(&poolProps->location, &card))
		return CUDA_ERROR_INVALID_VALUE;
	if (poolProps->handleTypes)
		return CUDA_ERROR_NOT_SUPPORTED;
	rc = pool_new(poolProps, card, &made);
	if (!rc)
		*pool = (CUmemoryPool)made;
	return rc;
}

CUAPI(cuMemPoolDestroy, (CUmemoryPool pool), (pool))
{
	struct pool *const ended = pool_get(pool);

	return ended ? pool_end(ended) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep))
{
	struct pool *const trimmed = pool_get(pool);

	if (!trimmed)
		return CUDA_ERROR_INVALID_VALUE;
	pool_trim(trimmed, minBytesToKeep);
	return CUDA_SUCCESS;
}

CUAPI(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
      (pool, attr, value))
{
	const struct pool *const of = pool_get(pool);

	if (!of || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = of->reuse[attr - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = of->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = of->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = of->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = of->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = of->used_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
		*(cuuint64_t *)value = of->most;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_TYPE:
		*(int *)value = (int)of->props.location.type;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_ID:
		*(int *)value = of->props.location.id;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUAPI(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
      (pool, attr, value))
{
	struct pool *const of = pool_get(pool);

	if (!of || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		of->reuse[attr - 1] = *(const int *)value != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		of->threshold = *(const cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		if (*(const cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		of->reserved_high = of->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		of->used_high = of->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUAPI(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count),
      (pool, map, count))
{
	struct pool *const of = pool_get(pool);
	size_t i;
	int card;

	if (!of || (count && !map))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++)
		if (!location_card(&map[i].location, &card) || card == of->card)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUAPI(cuMemPoolGetAccess,
      (CUmemAccess_flags * flags, CUmemoryPool memPool, CUmemLocation *location),
      (flags, memPool, location))
{
	const struct pool *const of = pool_get(memPool);
	int card;

	if (!of || !flags || !location || !location_card(location, &card))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = card == of->card ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
				  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), (pool_out, dev))
{
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	if (rc || !pool_out)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	*pool_out = (CUmemoryPool)pool_default(card);
	return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), (pool, dev))
{
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	if (rc || !pool)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	*pool = (CUmemoryPool)pool_current(card);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), (dev, pool))
{
	struct pool *const set = pool_get(pool);
	unsigned int card;
	const CUresult rc = device_card(dev, &card);

	if (rc || !set)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	return pool_set_current(card, set);
}

/* Of a device and of pinned memory; others have no pool of their own here. */
static CUresult card_of(const CUmemLocation *location, const CUmemAllocationType type,
			unsigned int *card)
{
	int found;

	if (!location || !location_card(location, &found))
		return CUDA_ERROR_INVALID_VALUE;
	if (found < 0 || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_NOT_SUPPORTED;
	*card = (unsigned int)found;
	return CUDA_SUCCESS;
}

CUAPI(cuMemGetDefaultMemPool,
      (CUmemoryPool * pool_out, CUmemLocation *location, CUmemAllocationType type),
      (pool_out, location, type))
{
	unsigned int card;
	const CUresult rc = card_of(location, type, &card);

	if (rc || !pool_out)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	*pool_out = (CUmemoryPool)pool_default(card);
	return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuMemGetMemPool, (CUmemoryPool * pool, CUmemLocation *location, CUmemAllocationType type),
      (pool, location, type))
{
	unsigned int card;
	const CUresult rc = card_of(location, type, &card);

	if (rc || !pool)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	*pool = (CUmemoryPool)pool_current(card);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUAPI(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
      (location, type, pool))
{
	struct pool *const set = pool_get(pool);
	unsigned int card;
	const CUresult rc = card_of(location, type, &card);

	if (rc || !set)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	return pool_set_current(card, set);
}
