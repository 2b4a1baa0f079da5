/*
 * NVML's events and records of errors, and what an administrator does to a GPU by its PCI address.
 * A hidden device cannot be named for them, and what happens to it is not told. Where it is named
 * NVML is asked for one that nobody has instead, so that the answer is what it says of such.
 */
#include "policy/seen.h"

#include <string.h>

#define NOBODY "GPU-00000000-0000-0000-0000-000000000000"

static const nvmlPciInfo_t nowhere = {.domain = 0xffff, .bus = 0xff, .device = 0x1f};

/* The address to ask NVML with; `instead` has room for another. */
static nvmlPciInfo_t *address(nvmlPciInfo_t *pci, nvmlPciInfo_t *instead)
{
	if (!pci || seen_address(pci->domain, pci->bus, pci->device) != SEEN_HIDDEN)
		return pci;
	*instead = nowhere;
	return instead;
}

nvmlReturn_t nvmlDeviceModifyDrainState(nvmlPciInfo_t *pciInfo, nvmlEnableState_t newState)
{
	nvmlPciInfo_t instead;

	return real_nvml.nvmlDeviceModifyDrainState(address(pciInfo, &instead), newState);
}

nvmlReturn_t nvmlDeviceQueryDrainState(nvmlPciInfo_t *pciInfo, nvmlEnableState_t *currentState)
{
	nvmlPciInfo_t instead;

	return real_nvml.nvmlDeviceQueryDrainState(address(pciInfo, &instead), currentState);
}

nvmlReturn_t nvmlDeviceRemoveGpu(nvmlPciInfo_t *pciInfo)
{
	nvmlPciInfo_t instead;

	return real_nvml.nvmlDeviceRemoveGpu(address(pciInfo, &instead));
}

nvmlReturn_t nvmlDeviceRemoveGpu_v2(nvmlPciInfo_t *pciInfo, nvmlDetachGpuState_t gpuState,
				    nvmlPcieLinkState_t linkState)
{
	nvmlPciInfo_t instead;

	return real_nvml.nvmlDeviceRemoveGpu_v2(address(pciInfo, &instead), gpuState, linkState);
}

nvmlReturn_t nvmlDeviceDiscoverGpus(nvmlPciInfo_t *pciInfo)
{
	nvmlPciInfo_t instead;

	return real_nvml.nvmlDeviceDiscoverGpus(address(pciInfo, &instead));
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
				      nvmlEventSet_t set)
{
	return real_nvml.nvmlDeviceRegisterEvents(seen_handle(device), eventTypes, set);
}

nvmlReturn_t
nvmlEventSetRegisterGpuOperationalEvents_v1(nvmlEventSet_t eventSet,
					    const nvmlGpuOperationalEventConfig_v1_t *config)
{
	nvmlGpuOperationalEventConfig_v1_t copy;

	if (config) {
		copy = *config;
		copy.uuid[sizeof(copy.uuid) - 1] = 0;
		if (seen_uuid(copy.uuid) == SEEN_HIDDEN)
			memcpy(copy.uuid, NOBODY, sizeof(NOBODY));
		config = &copy;
	}
	return real_nvml.nvmlEventSetRegisterGpuOperationalEvents_v1(eventSet, config);
}

/* Waiting may end before its time with nothing to tell: so it does for what is hidden. `bytes`:
 * how much of an event the caller has room for. */
static nvmlReturn_t tell(nvmlReturn_t rc, const nvmlEventData_t *event, void *data, size_t bytes)
{
	if (rc != NVML_SUCCESS || !data)
		return rc;
	if (seen_device(event->device) == SEEN_HIDDEN)
		return NVML_ERROR_TIMEOUT;
	memcpy(data, event, bytes);
	return rc;
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	nvmlEventData_t event = {.device = NULL};
	const nvmlReturn_t rc = real_nvml.nvmlEventSetWait(set, data ? &event : NULL, timeoutms);

	/* The structure ended before the instance. */
	return tell(rc, &event, data, offsetof(nvmlEventData_t, gpuInstanceId));
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	nvmlEventData_t event = {.device = NULL};
	const nvmlReturn_t rc = real_nvml.nvmlEventSetWait_v2(set, data ? &event : NULL, timeoutms);

	return tell(rc, &event, data, sizeof(event));
}

nvmlReturn_t nvmlEventSetWait_v3(nvmlEventSet_t set, nvmlEventSetWait_v3_t *params)
{
	nvmlEventSetWait_v3_t event;
	nvmlReturn_t rc;

	if (!params)
		return real_nvml.nvmlEventSetWait_v3(set, params);
	event = *params;
	rc = real_nvml.nvmlEventSetWait_v3(set, &event);
	if (rc == NVML_SUCCESS && seen_uuid(event.uuid) == SEEN_HIDDEN)
		return NVML_ERROR_TIMEOUT;
	*params = event;
	return rc;
}

/* A GPU that comes or goes is named by its address. One that NVML does not know, as it has just
 * gone, may have been a hidden one. */
static bool is_told(const nvmlSystemEventData_v1_t *event)
{
	return seen_address(event->gpuId >> 16, event->gpuId >> 8 & 0xff, event->gpuId & 0xff) ==
	       SEEN_SHOWN;
}

nvmlReturn_t nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_t *request)
{
	const nvmlReturn_t rc = real_nvml.nvmlSystemEventSetWait(request);
	unsigned told = 0;

	if (rc != NVML_SUCCESS || seen_all())
		return rc;
	/* A version that a newer library understands and we do not. */
	if (request->version != nvmlSystemEventSetWaitRequest_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	for (unsigned i = 0; i < request->numEvent; i++)
		if (is_told(&request->data[i]))
			request->data[told++] = request->data[i];
	memset(&request->data[told], 0, (request->numEvent - told) * sizeof(*request->data));
	request->numEvent = told;
	return told ? rc : NVML_ERROR_TIMEOUT;
}

/* Without a name it tells of all GPUs. */
nvmlReturn_t nvmlSystemGetCPER_v1(nvmlGetCPER_v1_t *cper)
{
	nvmlGetCPER_v1_t copy;
	nvmlReturn_t rc;

	if (!cper || seen_all())
		return real_nvml.nvmlSystemGetCPER_v1(cper);
	copy = *cper;
	copy.cursor.uuid[sizeof(copy.cursor.uuid) - 1] = 0;
	if (!copy.cursor.uuid[0])
		return NVML_ERROR_NO_PERMISSION;
	if (seen_uuid(copy.cursor.uuid) == SEEN_HIDDEN)
		memcpy(copy.cursor.uuid, NOBODY, sizeof(NOBODY));
	rc = real_nvml.nvmlSystemGetCPER_v1(&copy);
	cper->cursor.handle = copy.cursor.handle;
	cper->bufferSize = copy.bufferSize;
	return rc;
}
