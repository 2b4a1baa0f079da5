/*
 * How a GPU is divided into MIG instances, and what these consist of. The places of hidden ones are
 * empty, as those of instances that were never made; a GPU instance is shown where any of its
 * compute instances is. The handles of parts come from here alone.
 */
#include "policy/seen.h"

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	return real_nvml.nvmlDeviceGetMaxMigDeviceCount(seen_handle(device), count);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
						 nvmlDevice_t *migDevice)
{
	nvmlDevice_t handle = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetMigDeviceHandleByIndex(
		seen_handle(device), index, migDevice ? &handle : NULL);

	if (rc != NVML_SUCCESS || !migDevice)
		return rc;
	if (seen_device(handle) != SEEN_SHOWN)
		return NVML_ERROR_NOT_FOUND;
	*migDevice = handle;
	return rc;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
							  nvmlDevice_t *device)
{
	return real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(seen_handle(migDevice),
								      device);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *isMigDevice)
{
	return real_nvml.nvmlDeviceIsMigDeviceHandle(seen_handle(device), isMigDevice);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	return real_nvml.nvmlDeviceGetGpuInstanceId(seen_handle(device), id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	return real_nvml.nvmlDeviceGetComputeInstanceId(seen_handle(device), id);
}

static bool shows_gpu_instance(nvmlGpuInstance_t part)
{
	nvmlGpuInstanceInfo_t info;

	return real_nvml.nvmlGpuInstanceGetInfo(part, &info) == NVML_SUCCESS &&
	       seen_part(info.device, info.id, SEEN_ANY);
}

static bool shows_compute_instance(nvmlGpuInstance_t gpu_instance, nvmlComputeInstance_t part)
{
	nvmlComputeInstanceInfo_t info;
	nvmlGpuInstanceInfo_t around;

	return (real_nvml.nvmlComputeInstanceGetInfo_v2(part, &info) == NVML_SUCCESS ||
		real_nvml.nvmlComputeInstanceGetInfo(part, &info) == NVML_SUCCESS) &&
	       real_nvml.nvmlGpuInstanceGetInfo(gpu_instance, &around) == NVML_SUCCESS &&
	       seen_part(around.device, around.id, info.id);
}

/* There is no room given: the caller has as much as the profile allows, which is a few. */
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId,
				       nvmlGpuInstance_t *gpuInstances, unsigned int *count)
{
	nvmlGpuInstance_t all[DEVICES_MAX];
	unsigned int found = 0, shown = 0;
	nvmlReturn_t rc;

	device = seen_handle(device);
	if (!gpuInstances || !count || seen_all())
		return real_nvml.nvmlDeviceGetGpuInstances(device, profileId, gpuInstances, count);
	rc = real_nvml.nvmlDeviceGetGpuInstances(device, profileId, all, &found);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < found; i++)
		if (shows_gpu_instance(all[i]))
			gpuInstances[shown++] = all[i];
	if (rc == NVML_SUCCESS)
		*count = shown;
	return rc;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
					  nvmlGpuInstance_t *gpuInstance)
{
	nvmlGpuInstance_t part = NULL;
	nvmlReturn_t rc;

	device = seen_handle(device);
	rc = real_nvml.nvmlDeviceGetGpuInstanceById(device, id, gpuInstance ? &part : NULL);
	if (rc != NVML_SUCCESS || !gpuInstance)
		return rc;
	if (!seen_part(device, id, SEEN_ANY))
		return NVML_ERROR_NOT_FOUND;
	*gpuInstance = part;
	return rc;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpuInstance,
						unsigned int profileId,
						nvmlComputeInstance_t *computeInstances,
						unsigned int *count)
{
	nvmlComputeInstance_t all[DEVICES_MAX];
	unsigned int found = 0, shown = 0;
	nvmlReturn_t rc;

	if (!computeInstances || !count || seen_all())
		return real_nvml.nvmlGpuInstanceGetComputeInstances(gpuInstance, profileId,
								    computeInstances, count);
	rc = real_nvml.nvmlGpuInstanceGetComputeInstances(gpuInstance, profileId, all, &found);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < found; i++)
		if (shows_compute_instance(gpuInstance, all[i]))
			computeInstances[shown++] = all[i];
	if (rc == NVML_SUCCESS)
		*count = shown;
	return rc;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpuInstance, unsigned int id,
						   nvmlComputeInstance_t *computeInstance)
{
	nvmlComputeInstance_t part = NULL;
	const nvmlReturn_t rc = real_nvml.nvmlGpuInstanceGetComputeInstanceById(
		gpuInstance, id, computeInstance ? &part : NULL);

	if (rc != NVML_SUCCESS || !computeInstance)
		return rc;
	if (!seen_all() && !shows_compute_instance(gpuInstance, part))
		return NVML_ERROR_NOT_FOUND;
	*computeInstance = part;
	return rc;
}
