/* Asking NVML what a handle, a name or an address stands for; see seen.h. */
#include "policy/seen.h"

#include "base/text.h"

const struct visible *seen_list(void)
{
	const struct visible *const list = visible_get(false);

	return !list || list->all ? list : visible_get(true);
}

bool seen_all(void)
{
	const struct visible *const list = visible_get(false);

	return list && list->all;
}

const struct visible_device *seen_gpu(const struct visible *list, unsigned place)
{
	for (unsigned i = 0; i < list->count; i++)
		if ((!i || list->device[i].index != list->device[i - 1].index) && !place--)
			return &list->device[i];
	return NULL;
}

const struct visible_device *seen_of(const struct visible *list, nvmlDevice_t handle)
{
	const struct visible_device *found = NULL;
	struct uuid uuid;
	nvmlDevice_t parent;

	if (!visible_uuid(handle, &uuid))
		found = visible_find(list, &uuid);
	/* An instance may be seen when the whole GPU may. */
	if (found || real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, &parent) !=
			     NVML_SUCCESS)
		return found;
	return visible_uuid(parent, &uuid) ? NULL : visible_exact(list, &uuid);
}

static bool is_known(nvmlDevice_t handle)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];

	return real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text)) == NVML_SUCCESS;
}

enum seen seen_device(nvmlDevice_t handle)
{
	const struct visible *list;

	if (seen_all())
		return SEEN_SHOWN;
	list = seen_list();
	if (list && (list->all || seen_of(list, handle)))
		return SEEN_SHOWN;
	return is_known(handle) ? SEEN_HIDDEN : SEEN_UNKNOWN;
}

enum seen seen_uuid(const char *text)
{
	nvmlDevice_t handle;

	if (seen_all())
		return SEEN_SHOWN;
	return real_nvml.nvmlDeviceGetHandleByUUID(text, &handle) == NVML_SUCCESS
		       ? seen_device(handle)
		       : SEEN_UNKNOWN;
}

enum seen seen_address(unsigned domain, unsigned bus, unsigned device)
{
	char text[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
	struct text address;
	nvmlDevice_t handle;

	if (seen_all())
		return SEEN_SHOWN;
	text_init(&address, text, sizeof(text));
	text_add(&address, "%08x:%02x:%02x.0", domain, bus, device);
	if (real_nvml.nvmlDeviceGetHandleByPciBusId_v2(text, &handle) != NVML_SUCCESS &&
	    real_nvml.nvmlDeviceGetHandleByPciBusId(text, &handle) != NVML_SUCCESS)
		return SEEN_UNKNOWN;
	return seen_device(handle);
}

bool seen_part(nvmlDevice_t gpu, unsigned gpu_instance, unsigned compute_instance)
{
	const struct visible *list;
	struct uuid uuid;

	if (seen_all())
		return true;
	list = seen_list();
	if (!list || visible_uuid(gpu, &uuid))
		return false;
	if (list->all || visible_exact(list, &uuid))
		return true;
	for (unsigned i = 0; i < list->count; i++) {
		const struct uuid *const device = &list->device[i].uuid;

		if (device->numbered && uuid_equal(&list->device[i].gpu, &uuid) &&
		    device->gpu_instance == gpu_instance &&
		    (compute_instance == SEEN_ANY || device->compute_instance == compute_instance))
			return true;
	}
	return false;
}

nvmlDevice_t seen_handle(nvmlDevice_t handle)
{
	return seen_device(handle) == SEEN_HIDDEN ? NULL : handle;
}

unsigned seen_filter(nvmlDevice_t *devices, unsigned count)
{
	unsigned shown = 0;

	for (unsigned i = 0; i < count; i++)
		if (seen_device(devices[i]) == SEEN_SHOWN)
			devices[shown++] = devices[i];
	return shown;
}
