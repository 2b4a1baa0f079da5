/*
 * MIG: how a card is divided, and its instances. Handles of instances are taken here and where
 * memory, name, UUID and processes are asked; elsewhere they are wrong ones.
 */
#include "nvml_sim.h"

#include <string.h>

#define NEED(condition)                                                                         \
	do {                                                                                    \
		if (!(condition))                                                               \
			return NVML_ERROR_INVALID_ARGUMENT;                                     \
	} while (0)

NVAPI(nvmlDeviceGetMigMode,
      (nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode),
      (device, currentMode, pendingMode))
{
	const struct card *const card = nvml_card(device, NULL);

	NEED(card && currentMode && pendingMode);
	*currentMode = *pendingMode = card->instances ? NVML_DEVICE_MIG_ENABLE :
							NVML_DEVICE_MIG_DISABLE;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceIsMigDeviceHandle, (nvmlDevice_t device, unsigned int *isMigDevice),
      (device, isMigDevice))
{
	const struct card *const card = nvml_device(device, NULL);

	NEED(card && isMigDevice);
	*isMigDevice = card->gpu_instance != 0;
	return NVML_SUCCESS;
}

/* As many as an A100 has slices, whether they are made or not. */
NVAPI(nvmlDeviceGetMaxMigDeviceCount, (nvmlDevice_t device, unsigned int *count), (device, count))
{
	const struct card *const card = nvml_card(device, NULL);

	NEED(card && count);
	*count = !card->instances ? 0 : card->instances > 7 ? card->instances : 7;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetMigDeviceHandleByIndex,
      (nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice),
      (device, index, migDevice))
{
	const struct card *const card = nvml_card(device, NULL);

	NEED(card && migDevice);
	if (index >= card->instances)
		return NVML_ERROR_NOT_FOUND;
	*migDevice = nvml_handle(card->first + index);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetDeviceHandleFromMigDeviceHandle,
      (nvmlDevice_t migDevice, nvmlDevice_t *device), (migDevice, device))
{
	const struct card *const card = nvml_device(migDevice, NULL);

	NEED(card && card->gpu_instance && device);
	*device = nvml_handle(card->parent);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetGpuInstanceId, (nvmlDevice_t device, unsigned int *id), (device, id))
{
	const struct card *const card = nvml_device(device, NULL);

	NEED(card && card->gpu_instance && id);
	*id = card->gpu_instance;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetComputeInstanceId, (nvmlDevice_t device, unsigned int *id), (device, id))
{
	const struct card *const card = nvml_device(device, NULL);

	NEED(card && card->gpu_instance && id);
	*id = card->compute_instance;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetAttributes_v2, (nvmlDevice_t device, nvmlDeviceAttributes_t *attributes),
      (device, attributes))
{
	const struct card *const card = nvml_device(device, NULL);

	NEED(card && attributes);
	if (!card->gpu_instance)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(attributes, 0, sizeof(*attributes));
	attributes->multiprocessorCount = 14;
	attributes->sharedCopyEngineCount = 1;
	attributes->gpuInstanceSliceCount = attributes->computeInstanceSliceCount = 1;
	attributes->memorySizeMB = card->bytes >> 20;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetAttributes, (nvmlDevice_t device, nvmlDeviceAttributes_t *attributes),
      (device, attributes))
{
	return INNER(nvmlDeviceGetAttributes_v2)(device, attributes);
}
