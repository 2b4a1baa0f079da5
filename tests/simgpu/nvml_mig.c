/*
 * MIG: how a card is divided, and its instances. Handles of instances are taken here and where
 * memory, name, UUID and processes are asked; elsewhere they are wrong ones. Each consists of one
 * GPU instance and one compute instance, all of the one profile 0.
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

/* The handles of an instance's parts are the addresses of its bytes. */
static const char gpu_part[CARDS_MAX], compute_part[CARDS_MAX];

static const struct card *instance_of(const void *part, const char *parts, unsigned int *index)
{
	const char *const at = part;

	if (at < parts || at >= parts + config_get()->devices)
		return NULL;
	*index = (unsigned int)(at - parts);
	return config_get()->card[*index].gpu_instance ? &config_get()->card[*index] : NULL;
}

NVAPI(nvmlDeviceGetGpuInstances,
      (nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *gpuInstances,
       unsigned int *count),
      (device, profileId, gpuInstances, count))
{
	const struct card *const card = nvml_card(device, NULL);
	unsigned int i;

	NEED(card && !profileId && gpuInstances && count);
	if (!card->instances)
		return NVML_ERROR_NOT_SUPPORTED;
	for (i = 0; i < card->instances; i++)
		gpuInstances[i] = (nvmlGpuInstance_t)(uintptr_t)&gpu_part[card->first + i];
	*count = card->instances;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetGpuInstanceById,
      (nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *gpuInstance),
      (device, id, gpuInstance))
{
	const struct card *const card = nvml_card(device, NULL);

	NEED(card && gpuInstance);
	if (!card->instances)
		return NVML_ERROR_NOT_SUPPORTED;
	if (!id || id > card->instances)
		return NVML_ERROR_NOT_FOUND;
	*gpuInstance = (nvmlGpuInstance_t)(uintptr_t)&gpu_part[card->first + id - 1];
	return NVML_SUCCESS;
}

NVAPI(nvmlGpuInstanceGetInfo, (nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info),
      (gpuInstance, info))
{
	unsigned int index;
	const struct card *const card = instance_of(gpuInstance, gpu_part, &index);

	NEED(card && info);
	*info = (nvmlGpuInstanceInfo_t){ .device = nvml_handle(card->parent),
					 .id = card->gpu_instance,
					 .placement = { card->gpu_instance - 1, 1 } };
	return NVML_SUCCESS;
}

NVAPI(nvmlGpuInstanceGetComputeInstances,
      (nvmlGpuInstance_t gpuInstance, unsigned int profileId,
       nvmlComputeInstance_t *computeInstances, unsigned int *count),
      (gpuInstance, profileId, computeInstances, count))
{
	unsigned int index;

	NEED(instance_of(gpuInstance, gpu_part, &index) && !profileId && computeInstances && count);
	*computeInstances = (nvmlComputeInstance_t)(uintptr_t)&compute_part[index];
	*count = 1;
	return NVML_SUCCESS;
}

NVAPI(nvmlGpuInstanceGetComputeInstanceById,
      (nvmlGpuInstance_t gpuInstance, unsigned int id, nvmlComputeInstance_t *computeInstance),
      (gpuInstance, id, computeInstance))
{
	unsigned int index;

	NEED(instance_of(gpuInstance, gpu_part, &index) && computeInstance);
	if (id)
		return NVML_ERROR_NOT_FOUND;
	*computeInstance = (nvmlComputeInstance_t)(uintptr_t)&compute_part[index];
	return NVML_SUCCESS;
}

NVAPI(nvmlComputeInstanceGetInfo_v2,
      (nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info),
      (computeInstance, info))
{
	unsigned int index;
	const struct card *const card = instance_of(computeInstance, compute_part, &index);

	NEED(card && info);
	*info = (nvmlComputeInstanceInfo_t){
		.device = nvml_handle(card->parent),
		.gpuInstance = (nvmlGpuInstance_t)(uintptr_t)&gpu_part[index],
		.id = card->compute_instance,
		.placement = { 0, 1 },
	};
	return NVML_SUCCESS;
}

NVAPI(nvmlComputeInstanceGetInfo,
      (nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info),
      (computeInstance, info))
{
	return INNER(nvmlComputeInstanceGetInfo_v2)(computeInstance, info);
}
