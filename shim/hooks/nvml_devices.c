/*
 * Which devices NVML shows. Hidden means absent: not counted, not found by any name, and the
 * indices close up. NVML is asked first, so that what it says about its own state (not initialised,
 * a bad argument) stays what it says.
 */
#include "policy/visible.h"

/* The list with NVML's indices, which are not asked for where all is seen. NULL:
 * nothing may be shown. */
static const struct visible *shown(void)
{
	const struct visible *const list = visible_get(false);

	return !list || list->all ? list : visible_get(true);
}

/* The GPUs of the list, each once: several instances may lie on one. NULL:
 * there are not so many. */
static const struct visible_device *gpu_at(const struct visible *list, unsigned place)
{
	for (unsigned i = 0; i < list->count; i++)
		if ((!i || list->device[i].index != list->device[i - 1].index) && !place--)
			return &list->device[i];
	return NULL;
}

static unsigned gpu_place(const struct visible *list, const struct visible_device *gpu)
{
	unsigned place = 0;

	while (gpu_at(list, place) && gpu_at(list, place)->index != gpu->index)
		place++;
	return place;
}

static const struct visible_device *gpu_of(const struct visible *list, nvmlDevice_t handle)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	const struct visible_device *found = NULL;
	struct uuid uuid;
	nvmlDevice_t parent;

	if (real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text)) == NVML_SUCCESS &&
	    !uuid_parse(span_of(text), &uuid))
		found = visible_find(list, &uuid);
	/* An instance may be seen when the whole GPU may. */
	if (!found &&
	    real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, &parent) ==
		    NVML_SUCCESS &&
	    real_nvml.nvmlDeviceGetUUID(parent, text, sizeof(text)) == NVML_SUCCESS &&
	    !uuid_parse(span_of(text), &uuid)) {
		found = visible_find(list, &uuid);
		if (found && !uuid_equal(&found->uuid, &uuid))
			found = NULL;
	}
	return found;
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
	list = shown();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (list->all)
		return rc;
	for (*devices = 0; gpu_at(list, *devices);)
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
	const struct visible *const list = shown();
	const struct visible_device *gpu;

	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (list->all)
		return get(index, device);
	gpu = gpu_at(list, index);
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
	list = shown();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	if (!list->all && !gpu_of(list, handle))
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
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetIndex(device, index);
	const struct visible *list;
	const struct visible_device *gpu;
	unsigned instance = 0;

	if (rc != NVML_SUCCESS)
		return rc;
	list = shown();
	if (!list)
		return NVML_ERROR_NO_PERMISSION;
	/* An instance's index counts on its GPU, which hides none. */
	if (list->all ||
	    (real_nvml.nvmlDeviceIsMigDeviceHandle(device, &instance) == NVML_SUCCESS && instance))
		return rc;
	gpu = gpu_of(list, device);
	if (!gpu)
		return NVML_ERROR_NOT_FOUND;
	*index = gpu_place(list, gpu);
	return rc;
}
