/*
 * Page-locked host memory: ordinary memory, remembered so that addresses can be asked about. Takes
 * no device memory.
 */
#include "range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_block *blocks;
static size_t count, room;

static CUresult add(const struct host_block *block)
{
	CUresult rc = CUDA_SUCCESS;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		if (block->base < blocks[i].base + blocks[i].bytes &&
		    blocks[i].base < block->base + block->bytes)
			rc = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (!rc && count == room) {
		struct host_block *const grown =
			realloc(blocks, (room ? 2 * room : 64) * sizeof(*blocks));

		if (grown) {
			blocks = grown;
			room = room ? 2 * room : 64;
		} else {
			rc = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	if (!rc)
		blocks[count++] = *block;
	pthread_mutex_unlock(&lock);
	return rc;
}

static bool take(const void *base, const bool registered, struct host_block *block)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		if (blocks[i].base == base && blocks[i].registered == registered) {
			*block = blocks[i];
			blocks[i] = blocks[--count];
			found = true;
			break;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

bool host_find(const void *at, struct host_block *block)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count && !found; i++)
		if ((const char *)at >= blocks[i].base &&
		    (const char *)at < blocks[i].base + blocks[i].bytes) {
			*block = blocks[i];
			found = true;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

CUAPI(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags))
{
	struct host_block block = { .bytes = bytesize, .flags = Flags };
	CUresult rc = CUDA_SUCCESS;

	block.context = context_current(&rc);
	if (rc)
		return rc;
	if (!pp || !bytesize || Flags & ~7U)
		return CUDA_ERROR_INVALID_VALUE;
	block.base = mmap(NULL, bytesize, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block.base == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = add(&block);
	if (rc)
		munmap(block.base, bytesize);
	else
		*pp = block.base;
	return rc;
}

CUAPI(cuMemAllocHost_v2, (void **pp, size_t bytesize), (pp, bytesize))
{
	return INNER(cuMemHostAlloc)(pp, bytesize, 0);
}

CUAPI(cuMemAllocHost, (void **pp, unsigned int bytesize), (pp, bytesize))
{
	return INNER(cuMemHostAlloc)(pp, bytesize, 0);
}

CUAPI(cuMemFreeHost, (void *p), (p))
{
	struct host_block block;

	if (!take(p, false, &block))
		return CUDA_ERROR_INVALID_VALUE;
	munmap(block.base, block.bytes);
	return CUDA_SUCCESS;
}

CUAPI(cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags))
{
	struct host_block block = {
		.base = p, .bytes = bytesize, .flags = Flags, .registered = true};
	CUresult rc = CUDA_SUCCESS;

	block.context = context_current(&rc);
	if (rc)
		return rc;
	if (!p || !bytesize || Flags & ~15U)
		return CUDA_ERROR_INVALID_VALUE;
	return add(&block);
}

CUAPI(cuMemHostRegister, (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags))
{
	return INNER(cuMemHostRegister_v2)(p, bytesize, Flags);
}

CUAPI(cuMemHostUnregister, (void *p), (p))
{
	struct host_block block;

	return take(p, true, &block) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUAPI(cuMemHostGetDevicePointer_v2, (CUdeviceptr * pdptr, void *p, unsigned int Flags),
      (pdptr, p, Flags))
{
	struct host_block block;

	if (!pdptr || Flags || !host_find(p, &block))
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

CUAPI(cuMemHostGetDevicePointer, (CUdeviceptr_v1 * pdptr, void *p, unsigned int Flags),
      (pdptr, p, Flags))
{
	/* Host memory lies above what 32 bits can name. */
	return (uintptr_t)p >> 32 || !pdptr ? CUDA_ERROR_INVALID_VALUE :
					      (*pdptr = (CUdeviceptr_v1)(uintptr_t)p, CUDA_SUCCESS);
}

CUAPI(cuMemHostGetFlags, (unsigned int *pFlags, void *p), (pFlags, p))
{
	struct host_block block;

	if (!pFlags || !host_find(p, &block) || block.registered)
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = block.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}
