/*
 * See parent.h.
 */
#include "policy/parent.h"
#include "policy/visible.h"

#include "base/log.h"
#include "base/settings.h"

/* Without what the driver keeps for itself, where NVML tells it apart: nobody can have that. */
static bool ask_size(const char *name, uint64_t *bytes)
{
	nvmlMemory_v2_t apart = {.version = nvmlMemory_v2};
	const struct visible_hold hold = visible_enter();
	const bool up = visible_start_nvml() == NVML_SUCCESS;
	nvmlMemory_t memory;
	nvmlDevice_t handle;
	bool told;

	told = up && real_nvml.nvmlDeviceGetHandleByUUID(name, &handle) == NVML_SUCCESS &&
	       real_nvml.nvmlDeviceGetMemoryInfo(handle, &memory) == NVML_SUCCESS;
	if (told)
		*bytes = memory.total;
	if (told && real_nvml.nvmlDeviceGetMemoryInfo_v2(handle, &apart) == NVML_SUCCESS)
		*bytes = apart.total - apart.reserved;
	if (up)
		real_nvml.nvmlShutdown();
	visible_leave(&hold);
	return told;
}

static bool names(const struct device_amounts *amounts, const struct uuid *gpu, unsigned place)
{
	const struct device_amount *const entry = devices_find(amounts, gpu, place);

	return entry && entry->key.kind != KEY_ANY;
}

bool parent_is_named(const struct uuid *gpu, unsigned place)
{
	const struct settings *const settings = settings_get();

	return names(&settings->limit, gpu, place) || names(&settings->request, gpu, place);
}

bool parent_describe(const struct uuid *gpu, struct device *parent)
{
	*parent = (struct device){.uuid = *gpu, .divided = true};
	uuid_format(gpu, parent->name);
	if (visible_place(gpu, &parent->place))
		parent->place = VISIBLE_UNKNOWN;
	if (ask_size(parent->name, &parent->bytes))
		return true;
	if (parent_is_named(gpu, parent->place))
		log_error("%s: NVML does not tell its size, so the limit or request of this "
			  "divided GPU cannot be held; make libnvidia-ml.so.1 available, or set "
			  "those of its instances",
			  parent->name);
	return false;
}
