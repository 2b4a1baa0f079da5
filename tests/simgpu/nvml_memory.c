/*
 * Memory and processes: the ground truth of the whole card.
 */
#include "nvml_sim.h"

#include <string.h>

static uint64_t used(const unsigned int index)
{
	const struct account *const account = nvml_account();
	uint64_t bytes;

	if (!account || index >= account->file->devices)
		return 0;
	bytes = account_used(account, index);
	return bytes < config_get()->card[index].bytes ? bytes : config_get()->card[index].bytes;
}

NVAPI(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t *memory), (device, memory))
{
	unsigned int index;
	const struct card *const card = nvml_card(device, &index);

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
	const struct card *const card = nvml_card(device, &index);

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

/* Processes with memory on the card; the layouts differ in what follows pid and memory. */
static nvmlReturn_t processes(nvmlDevice_t device, unsigned int *count, void *infos,
			      const size_t size)
{
	const struct account *account;
	unsigned int index, slot, n = 0;
	unsigned int room;

	if (!nvml_card(device, &index) || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	room = infos ? *count : 0;
	account = nvml_account();
	for (slot = 0; account && slot < account->file->slots && slot < ACCOUNT_SLOTS; slot++) {
		const struct account_slot *const other = &account->file->slot[slot];
		nvmlProcessInfo_v2_t info = { .gpuInstanceId = 0xffffffffU,
					      .computeInstanceId = 0xffffffffU };

		if (!__atomic_load_n(&other->state, __ATOMIC_ACQUIRE) || !other->held[index])
			continue;
		info.pid = other->pid;
		info.usedGpuMemory = (uint64_t)other->held[index] * ACCOUNT_UNIT;
		if (n < room)
			memcpy((char *)infos + n * size, &info, size);
		n++;
	}
	*count = n;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetComputeRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v2_t));
}

NVAPI(nvmlDeviceGetComputeRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v2_t));
}

NVAPI(nvmlDeviceGetComputeRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v1_t));
}

static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count)
{
	if (!nvml_card(device, NULL) || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount);
}
