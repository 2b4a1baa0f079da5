/*
 * Memory: the ground truth of the whole card or instance.
 */
#include "nvml_sim.h"

static uint64_t used(const unsigned int index)
{
	const struct card *const card = &config_get()->card[index];
	const struct account *const account = nvml_account();
	unsigned int i;
	uint64_t bytes;

	if (!account || index >= account->file->devices)
		return 0;
	bytes = account_used(account, index);
	/* Of a divided card, what its instances have. */
	for (i = 0; i < card->instances; i++)
		bytes += used(card->first + i);
	return bytes < card->bytes ? bytes : card->bytes;
}

NVAPI(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t *memory), (device, memory))
{
	unsigned int index;
	const struct card *const card = nvml_device(device, &index);

	if (!card || !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	/* The first version counts what is reserved as used. */
	memory->total = card->bytes + config_get()->reserved_bytes;
	memory->used = used(index) + config_get()->reserved_bytes;
	memory->free = memory->total - memory->used;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t device, nvmlMemory_v2_t *memory), (device, memory))
{
	unsigned int index;
	const struct card *const card = nvml_device(device, &index);

	if (!card || !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory->reserved = config_get()->reserved_bytes;
	memory->total = card->bytes + memory->reserved;
	memory->used = used(index);
	memory->free = memory->total - memory->reserved - memory->used;
	return NVML_SUCCESS;
}
