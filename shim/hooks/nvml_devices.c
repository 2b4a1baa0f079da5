/*
 * Which devices NVML shows. Hidden means absent: not counted, not found by any name, and the
 * indices close up. NVML is asked first, so that what it says about its own state (not initialised,
 * a bad argument) stays what it says.
 */
#include "policy/seen.h"

static unsigned gpu_place(const struct visible *list, const struct visible_device *gpu)
{
	unsigned place = 0;

	while (seen_gpu(list, place) && seen_gpu(list, place)->index != gpu->index)
		place++;
	return place;
}

static nvmlReturn_t start(nvmlReturn_t (*init)(void))
{
	return visible_refused() ? NVML_ERROR_NO_PERMISSION : init();
}

nvmlReturn_t nvmlInit(void)
{
	return start(real_nvml.nvmlInit);
}

nvmlReturn_t nvmlInit_v2(void)
{
	return start(real_nvml.nvmlInit_v2);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	return visible_refused() ? NVML_ERROR_NO_PERMISSION : real_nvml.nvmlInitWithFlags(flags);
}

static nvmlReturn_t count(nvmlReturn_t rc, unsigned int *devices)
{
	const struct visible *list;

	if (rc != NVML_SUCCESS)
		return rc;
	list = seen_list();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (list->all)
		return rc;
	for (*devices = 0; seen_gpu(list, *devices);)
		++*devices;
	return rc;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
	return count(real_nvml.nvmlDeviceGetCount(deviceCount), deviceCount);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	return count(real_nvml.nvmlDeviceGetCount_v2(deviceCount), deviceCount);
}

static nvmlReturn_t by_index(nvmlReturn_t (*get)(unsigned int, nvmlDevice_t *), unsigned int index,
			     nvmlDevice_t *device)
{
	const struct visible *const list = seen_list();
	const struct visible_device *gpu;

	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (list->all)
		return get(index, device);
	gpu = seen_gpu(list, index);
	return real_nvml.nvmlDeviceGetHandleByIndex_v2(gpu ? gpu->index : VISIBLE_UNKNOWN, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return by_index(real_nvml.nvmlDeviceGetHandleByIndex, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	return by_index(real_nvml.nvmlDeviceGetHandleByIndex_v2, index, device);
}

/* What NVML found by another name than an index. */
static nvmlReturn_t found(nvmlReturn_t rc, nvmlDevice_t handle, nvmlDevice_t *device)
{
	const struct visible *list;

	if (rc != NVML_SUCCESS || !device)
		return rc;
	list = seen_list();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (seen_device(handle) != SEEN_SHOWN)
		return NVML_ERROR_NOT_FOUND;
	*device = handle;
	return rc;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetHandleByUUID(uuid, device ? &handle : NULL);

	return found(rc, handle, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetHandleByUUIDV(uuid, device ? &handle : NULL);

	return found(rc, handle, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetHandleByPciBusId(pciBusId,
									device ? &handle : NULL);

	return found(rc, handle, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetHandleByPciBusId_v2(pciBusId,
									   device ? &handle : NULL);

	return found(rc, handle, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetHandleBySerial(serial,
								      device ? &handle : NULL);

	return found(rc, handle, device);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetIndex(seen_handle(device), index);
	const struct visible *list;
	const struct visible_device *gpu;
	unsigned instance = 0;

	if (rc != NVML_SUCCESS)
		return rc;
	list = seen_list();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	/* An instance's index counts on its GPU, which hides none. */
	if (list->all ||
	    (real_nvml.nvmlDeviceIsMigDeviceHandle(device, &instance) == NVML_SUCCESS && instance))
		return rc;
	gpu = seen_of(list, device);
	if (!gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	*index = gpu_place(list, gpu);
	return rc;
}

/* Devices that the machine keeps from everybody are none of the tenant's. */
static nvmlReturn_t count_excluded(nvmlReturn_t rc, unsigned int *devices)
{
	if (rc == NVML_SUCCESS && !seen_all())
		*devices = 0;
	return rc;
}

nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *deviceCount)
{
	return count_excluded(real_nvml.nvmlGetExcludedDeviceCount(deviceCount), deviceCount);
}

nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *deviceCount)
{
	return count_excluded(real_nvml.nvmlGetBlacklistDeviceCount(deviceCount), deviceCount);
}

nvmlReturn_t nvmlGetExcludedDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info)
{
	return real_nvml.nvmlGetExcludedDeviceInfoByIndex(seen_all() ? index : VISIBLE_UNKNOWN,
							  info);
}

nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info)
{
	return real_nvml.nvmlGetBlacklistDeviceInfoByIndex(seen_all() ? index : VISIBLE_UNKNOWN,
							   info);
}
