/*
 * The memory that NVML shows: the same figures as CUDA's, read from the ledger without joining it.
 * The real call comes first, so that a wrong version or a lost device is answered by NVML itself;
 * of a hidden device it is asked as of one that does not exist.
 */
#include "hooks/nvml_handle.h"
#include "policy/seen.h"
#include "policy/state.h"

static bool is_divided(nvmlDevice_t handle)
{
	unsigned now, pending;

	return real_nvml.nvmlDeviceGetMigMode(handle, &now, &pending) == NVML_SUCCESS &&
	       now == NVML_DEVICE_MIG_ENABLE;
}

/* The GPU that an instance lies on. */
static bool find_parent(nvmlDevice_t instance, struct unjoined *gpu)
{
	nvmlMemory_t memory;
	nvmlDevice_t handle;

	*gpu = (struct unjoined){.divided = true};
	if (real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance, &handle) !=
		    NVML_SUCCESS ||
	    handle_uuid(handle, &gpu->uuid) != NVML_SUCCESS ||
	    real_nvml.nvmlDeviceGetMemoryInfo(handle, &memory) != NVML_SUCCESS)
		return false;
	gpu->physical = memory.total;
	gpu->real_free = memory.free;
	return true;
}

static bool figures(nvmlDevice_t handle, uint64_t physical, uint64_t real_free, struct shown *shown)
{
	struct unjoined alone = {.physical = physical, .real_free = real_free}, gpu;
	const struct device *device;

	if (handle_uuid(handle, &alone.uuid) != NVML_SUCCESS)
		return false;
	device = device_named(&alone.uuid);
	if (device) {
		device_shown(device, real_free, shown);
		return true;
	}
	alone.divided = !alone.uuid.mig && is_divided(handle);
	return shown_unjoined(&alone, alone.uuid.mig && find_parent(handle, &gpu) ? &gpu : NULL,
			      shown);
}

static nvmlReturn_t shown_as(nvmlReturn_t rc, nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct shown shown;

	if (rc == NVML_SUCCESS && figures(device, memory->total, memory->free, &shown)) {
		memory->total = shown.total;
		memory->used = shown.used;
		memory->free = shown.free;
	}
	return rc;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	device = seen_handle(device);
	return shown_as(real_nvml.nvmlDeviceGetMemoryInfo(device, memory), device, memory);
}

/* What the driver itself reserves is none of the tenant's: 0. */
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct shown shown;
	nvmlReturn_t rc;

	device = seen_handle(device);
	rc = real_nvml.nvmlDeviceGetMemoryInfo_v2(device, memory);
	if (rc != NVML_SUCCESS)
		return rc;
	/* A version that a newer library understands and we do not. */
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (figures(device, memory->total, memory->free, &shown)) {
		memory->total = shown.total;
		memory->reserved = 0;
		memory->used = shown.used;
		memory->free = shown.free;
	}
	return rc;
}

/* On a card that computes confidentially all its memory is protected: the same figures. */
nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t rc;

	device = seen_handle(device);
	rc = real_nvml.nvmlDeviceGetConfComputeProtectedMemoryUsage(device, memory);
	/* Elsewhere none is. */
	return rc == NVML_SUCCESS && !memory->total ? rc : shown_as(rc, device, memory);
}

/* `most` of a unit of so many bytes: no more than the total that is shown. */
static unsigned long long clamped(nvmlDevice_t device, unsigned long long most, unsigned bytes)
{
	struct shown shown;

	if (!most || !figures(device, most * bytes, most * bytes, &shown) ||
	    shown.total / bytes > most)
		return most;
	return shown.total / bytes;
}

nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t device,
						 nvmlConfComputeMemSizeInfo_t *memInfo)
{
	nvmlReturn_t rc;

	device = seen_handle(device);
	rc = real_nvml.nvmlDeviceGetConfComputeMemSizeInfo(device, memInfo);
	if (rc == NVML_SUCCESS)
		memInfo->protectedMemSizeKib = clamped(device, memInfo->protectedMemSizeKib, 1024);
	return rc;
}

/* Of an instance's attributes one is its size. */
static nvmlReturn_t sized(nvmlReturn_t rc, nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	if (rc == NVML_SUCCESS)
		attributes->memorySizeMB = clamped(device, attributes->memorySizeMB, 1u << 20);
	return rc;
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	device = seen_handle(device);
	return sized(real_nvml.nvmlDeviceGetAttributes(device, attributes), device, attributes);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	device = seen_handle(device);
	return sized(real_nvml.nvmlDeviceGetAttributes_v2(device, attributes), device, attributes);
}
