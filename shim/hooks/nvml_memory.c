/*
 * The memory that NVML shows: the same figures as CUDA's, read from the ledger without joining it.
 * The real call comes first, so that a wrong version or a lost device is answered by NVML itself.
 */
#include "policy/state.h"

static bool figures(nvmlDevice_t handle, uint64_t physical, uint64_t real_free, struct shown *shown)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	const struct device *device;
	struct uuid uuid;

	if (real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text)) != NVML_SUCCESS ||
	    uuid_parse(span_of(text), &uuid))
		return false;
	device = device_named(&uuid);
	if (!device)
		return shown_unjoined(&uuid, physical, real_free, shown);
	device_shown(device, real_free, shown);
	return true;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetMemoryInfo(device, memory);
	struct shown shown;

	if (rc == NVML_SUCCESS && figures(device, memory->total, memory->free, &shown)) {
		memory->total = shown.total;
		memory->used = shown.used;
		memory->free = shown.free;
	}
	return rc;
}

/* What the driver itself reserves is none of the tenant's: 0. */
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetMemoryInfo_v2(device, memory);
	struct shown shown;

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
