/*
 * Virtual memory management. An allocation costs its size on the device of its location from
 * cuMemCreate until its last handle is released and its last mapping undone. It belongs to no
 * context.
 */
#include "areas.h"
#include "range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory {
	struct handle handle;
	int card; /* -1: host memory */
	uint32_t units;
	unsigned int refs, maps;
	int fd; /* its pages, once mapped */
	size_t bytes;
	CUmemAllocationProp prop;
};

_Static_assert(sizeof(struct memory) <= HANDLE_BYTES, "a handle's room");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct areas reserved, mapped;

static size_t granularity(void)
{
	const uint64_t grain = config_get()->grain;

	return grain > (2U << 20) ? grain : 2U << 20;
}

bool vmm_find(const CUdeviceptr at, CUdeviceptr *base, size_t *bytes, int *card)
{
	const struct area *area;

	pthread_mutex_lock(&lock);
	area = areas_find(&mapped, at);
	if (area) {
		*base = area->base;
		*bytes = area->bytes;
		*card = area->memory->card;
	}
	pthread_mutex_unlock(&lock);
	return area != NULL;
}

bool vmm_covers(CUdeviceptr at, size_t bytes)
{
	bool covered = true;

	pthread_mutex_lock(&lock);
	while (bytes && covered) {
		const struct area *const area = areas_find(&mapped, at);
		size_t part;

		covered = area && area->access;
		if (covered) {
			part = area->bytes - (at - area->base);
			part = part < bytes ? part : bytes;
			at += part;
			bytes -= part;
		}
	}
	pthread_mutex_unlock(&lock);
	return covered;
}

/* Which card an allocation takes memory from; false when the location is not a valid one. */
static bool location_card(const CUmemLocation *location, int *card)
{
	unsigned int number;
	CUdevice device = location->id;

	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*card = -1;
		return true;
	case CU_MEM_LOCATION_TYPE_DEVICE:
		break;
	default:
		return false;
	}
	if (device_card(device, &number))
		return false;
	*card = (int)number;
	return true;
}

CUAPI(cuMemGetAllocationGranularity,
      (size_t *granularity_out, const CUmemAllocationProp *prop,
       CUmemAllocationGranularity_flags option),
      (granularity_out, prop, option))
{
	int card;

	if (!granularity_out || !prop || !location_card(&prop->location, &card))
		return CUDA_ERROR_INVALID_VALUE;
	*granularity_out = granularity();
	return CUDA_SUCCESS;
}

CUAPI(cuMemAddressReserve,
      (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr,
       unsigned long long flags),
      (ptr, size, alignment, addr, flags))
{
	struct area area = { .bytes = size };
	size_t align = alignment > granularity() ? alignment : granularity();
	CUresult rc = CUDA_SUCCESS;
	char *base;

	if (!ptr || !size || size % granularity() || (alignment & (alignment - 1)) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	base = mmap((void *)addr, size + align, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	area.base = ((uintptr_t)base + align - 1) & ~(uintptr_t)(align - 1);
	if (area.base > (uintptr_t)base)
		munmap(base, area.base - (uintptr_t)base);
	munmap((char *)area.base + size, align - (area.base - (uintptr_t)base));
	pthread_mutex_lock(&lock);
	if (!areas_add(&reserved, &area))
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&lock);
	if (rc)
		munmap((void *)area.base, size);
	else
		*ptr = area.base;
	return rc;
}

CUAPI(cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size))
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct area *area;

	pthread_mutex_lock(&lock);
	area = areas_find(&reserved, ptr);
	if (area && area->base == ptr && area->bytes == size &&
	    !areas_overlaps(&mapped, ptr, size)) {
		munmap((void *)ptr, size);
		areas_drop(&reserved, area);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuMemCreate,
      (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
       unsigned long long flags),
      (handle, size, prop, flags))
{
	struct memory *memory;
	bool locked;
	int card, rc = 0;

	if (!handle || !prop || !size || size % granularity() || flags ||
	    prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || !location_card(&prop->location, &card))
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (size >> 39)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = handle_new(KIND_MEMORY);
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->card = card;
	memory->bytes = size;
	memory->prop = *prop;
	memory->refs = 1;
	memory->fd = -1;
	if (card >= 0) {
		locked = sim_lock();
		memory->units = account_units(size);
		rc = account_charge(&sim.account, (unsigned int)card, memory->units, false);
		sim_unlock(locked);
	}
	if (rc) {
		handle_drop(memory, KIND_MEMORY);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)memory;
	return CUDA_SUCCESS;
}

static struct memory *memory_get(const CUmemGenericAllocationHandle handle)
{
	struct memory *const memory = handle_get((const void *)(uintptr_t)handle, KIND_MEMORY);

	return memory && memory->refs ? memory : NULL;
}

/* Under the lock. */
static void memory_end(struct memory *memory)
{
	bool locked;

	if (memory->refs || memory->maps)
		return;
	if (memory->fd >= 0)
		close(memory->fd);
	if (memory->card >= 0) {
		locked = sim_lock();
		account_refund(&sim.account, (unsigned int)memory->card, memory->units);
		sim_unlock(locked);
	}
	handle_drop(memory, KIND_MEMORY);
}

CUAPI(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle))
{
	struct memory *memory;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	memory = memory_get(handle);
	if (memory) {
		memory->refs--;
		memory_end(memory);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuMemMap,
      (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
       unsigned long long flags),
      (ptr, size, offset, handle, flags))
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	const struct area *within;
	struct memory *memory;

	pthread_mutex_lock(&lock);
	memory = memory_get(handle);
	within = areas_find(&reserved, ptr);
	if (memory && within && size && !offset && !flags && size <= memory->bytes &&
	    ptr % granularity() == 0 && size % granularity() == 0 &&
	    size <= within->bytes - (ptr - within->base) && !areas_overlaps(&mapped, ptr, size)) {
		const struct area area = { .base = ptr, .bytes = size, .memory = memory };

		rc = CUDA_ERROR_OUT_OF_MEMORY;
		if (memory->fd < 0) {
			memory->fd = memfd_create("simgpu", MFD_CLOEXEC);
			if (memory->fd >= 0 && ftruncate(memory->fd, (off_t)memory->bytes)) {
				close(memory->fd);
				memory->fd = -1;
			}
		}
		if (memory->fd >= 0 && mmap((void *)ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED,
					    memory->fd, 0) != MAP_FAILED &&
		    areas_add(&mapped, &area)) {
			madvise((void *)ptr, size, MADV_DONTFORK);
			memory->maps++;
			rc = CUDA_SUCCESS;
		}
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Whether [ptr, ptr+size) is made of whole mappings, and of nothing else. */
static bool whole(const CUdeviceptr ptr, const size_t size)
{
	CUdeviceptr at = ptr;

	while (at < ptr + size) {
		const struct area *const area = areas_find(&mapped, at);

		if (!area || area->base != at)
			return false;
		at += area->bytes;
	}
	return size && at == ptr + size;
}

CUAPI(cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size))
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	CUdeviceptr at = ptr;

	pthread_mutex_lock(&lock);
	if (whole(ptr, size)) {
		while (at < ptr + size) {
			struct area *const area = areas_find(&mapped, at);
			struct memory *const memory = area->memory;

			at += area->bytes;
			areas_drop(&mapped, area);
			memory->maps--;
			memory_end(memory);
		}
		mmap((void *)ptr, size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count),
      (ptr, size, desc, count))
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	unsigned int access = 0;
	CUdeviceptr at = ptr;
	size_t i;
	int card;

	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++) {
		if (!location_card(&desc[i].location, &card) ||
		    (desc[i].flags & ~(unsigned int)CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return CUDA_ERROR_INVALID_VALUE;
		access |= desc[i].flags;
	}
	pthread_mutex_lock(&lock);
	if (whole(ptr, size)) {
		while (at < ptr + size) {
			struct area *const area = areas_find(&mapped, at);

			area->access = access;
			at += area->bytes;
		}
		mprotect((void *)ptr, size,
			 access ? PROT_READ | (access & 2 ? PROT_WRITE : 0) : PROT_NONE);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUAPI(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr),
      (flags, location, ptr))
{
	const struct area *area;
	int card;

	if (!flags || !location || !location_card(location, &card))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	area = areas_find(&mapped, ptr);
	if (area)
		*flags = area->access;
	pthread_mutex_unlock(&lock);
	return area ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *addr),
      (handle, addr))
{
	const struct area *area;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	area = areas_find(&mapped, (CUdeviceptr)addr);
	if (area) {
		area->memory->refs++;
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)area->memory;
	}
	pthread_mutex_unlock(&lock);
	return area ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuMemGetAllocationPropertiesFromHandle,
      (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle), (prop, handle))
{
	const struct memory *const memory = memory_get(handle);

	if (!prop || !memory)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = memory->prop;
	return CUDA_SUCCESS;
}
