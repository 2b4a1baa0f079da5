/*
 * What NVML has: the GPUs of the machine, and the MIG instances that they are divided into. See
 * visible.h.
 */
#include "policy/visible.h"

#include <errno.h>

int visible_uuid(nvmlDevice_t handle, struct uuid *uuid)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];

	if (real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text)) != NVML_SUCCESS)
		return -ENODEV;
	return uuid_parse(span_of(text), uuid);
}

static void add(struct visible *all, unsigned *count, const struct visible_device *device)
{
	if (all->count + all->more < VISIBLE_MAX) {
		all->device[all->count + all->more] = *device;
		++*count;
	}
}

/* Those that are made and may be used here; NVML numbers more. */
static void ask_instances(struct visible *all, const struct visible_device *gpu)
{
	nvmlDevice_t handle, instance;
	unsigned places = 0;

	if (real_nvml.nvmlDeviceGetHandleByIndex_v2(gpu->index, &handle) != NVML_SUCCESS ||
	    real_nvml.nvmlDeviceGetMaxMigDeviceCount(handle, &places) != NVML_SUCCESS)
		return;
	for (unsigned i = 0; i < places; i++) {
		struct visible_device device = *gpu;
		unsigned number, compute;

		if (real_nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, i, &instance) !=
			    NVML_SUCCESS ||
		    visible_uuid(instance, &device.uuid))
			continue;
		if (real_nvml.nvmlDeviceGetGpuInstanceId(instance, &number) == NVML_SUCCESS &&
		    real_nvml.nvmlDeviceGetComputeInstanceId(instance, &compute) == NVML_SUCCESS)
			uuid_number(&device.uuid, &gpu->uuid, number, compute);
		add(all, &all->more, &device);
	}
}

int visible_ask(struct visible *all)
{
	unsigned count = 0;

	*all = (struct visible){.all = true};
	if (real_nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
		return -ENODEV;
	for (unsigned i = 0; i < count && i < DEVICES_MAX; i++) {
		struct visible_device device = {.index = i};
		nvmlDevice_t handle;

		/* One that fell off the bus keeps its index and cannot be had. */
		if (real_nvml.nvmlDeviceGetHandleByIndex_v2(i, &handle) != NVML_SUCCESS ||
		    visible_uuid(handle, &device.uuid))
			continue;
		device.gpu = device.uuid;
		add(all, &all->count, &device);
	}
	for (unsigned i = 0; i < all->count; i++)
		ask_instances(all, &all->device[i]);
	return 0;
}
