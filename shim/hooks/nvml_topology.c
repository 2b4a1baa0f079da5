/*
 * How NVML's devices lie to each other. What is hidden is in no list and at the end of no link, and
 * no pair is told of it. Of the shown every pair is answered as NVML does: who finds one that is
 * not does without peers altogether.
 */
#include "policy/seen.h"

#include <string.h>

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
				    nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus)
{
	return real_nvml.nvmlDeviceGetP2PStatus(seen_handle(device1), seen_handle(device2),
						p2pIndex, p2pStatus);
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
						 nvmlGpuTopologyLevel_t *pathInfo)
{
	return real_nvml.nvmlDeviceGetTopologyCommonAncestor(seen_handle(device1),
							     seen_handle(device2), pathInfo);
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int *onSameBoard)
{
	return real_nvml.nvmlDeviceOnSameBoard(seen_handle(device1), seen_handle(device2),
					       onSameBoard);
}

/* Is another GPU that is shown on its board? */
static bool shares_board(const struct visible *list, nvmlDevice_t device)
{
	const struct visible_device *gpu;

	for (unsigned place = 0; (gpu = seen_gpu(list, place)); place++) {
		nvmlDevice_t other;
		int same = 0;

		if (real_nvml.nvmlDeviceGetHandleByIndex_v2(gpu->index, &other) == NVML_SUCCESS &&
		    other != device &&
		    real_nvml.nvmlDeviceOnSameBoard(device, other, &same) == NVML_SUCCESS && same)
			return true;
	}
	return false;
}

nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *multiGpuBool)
{
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetMultiGpuBoard(seen_handle(device),
								     multiGpuBool);
	const struct visible *list;

	if (rc != NVML_SUCCESS || !*multiGpuBool)
		return rc;
	list = seen_list();
	if (!list || (!list->all && !shares_board(list, device)))
		*multiGpuBool = 0;
	return rc;
}

/* NVML's protocol of two calls, over those of `all` that are shown: a count of 0 asks for the
 * number, any other is the room there is. */
static nvmlReturn_t hand_out(nvmlDevice_t *all, unsigned int found, unsigned int *count,
			     nvmlDevice_t *devices)
{
	const unsigned int room = *count;

	*count = seen_filter(all, found);
	if (!room)
		return NVML_SUCCESS;
	if (*count > room)
		*count = room;
	memcpy(devices, all, *count * sizeof(*devices));
	return NVML_SUCCESS;
}

/* Nothing to redo, or arguments that NVML itself refuses. */
static bool is_plain(const unsigned int *count, nvmlDevice_t *devices)
{
	return !count || (*count && !devices) || seen_all();
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
					      unsigned int *count, nvmlDevice_t *deviceArray)
{
	nvmlDevice_t all[DEVICES_MAX];
	unsigned int found = 0;
	nvmlReturn_t rc;

	device = seen_handle(device);
	if (is_plain(count, deviceArray))
		return real_nvml.nvmlDeviceGetTopologyNearestGpus(device, level, count,
								  deviceArray);
	rc = real_nvml.nvmlDeviceGetTopologyNearestGpus(device, level, &found, NULL);
	if (found > DEVICES_MAX)
		found = DEVICES_MAX;
	if (rc == NVML_SUCCESS && found)
		rc = real_nvml.nvmlDeviceGetTopologyNearestGpus(device, level, &found, all);
	return rc == NVML_SUCCESS ? hand_out(all, found, count, deviceArray) : rc;
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int *count,
					 nvmlDevice_t *deviceArray)
{
	nvmlDevice_t all[DEVICES_MAX];
	unsigned int found = 0;
	nvmlReturn_t rc;

	if (is_plain(count, deviceArray))
		return real_nvml.nvmlSystemGetTopologyGpuSet(cpuNumber, count, deviceArray);
	rc = real_nvml.nvmlSystemGetTopologyGpuSet(cpuNumber, &found, NULL);
	if (found > DEVICES_MAX)
		found = DEVICES_MAX;
	if (rc == NVML_SUCCESS && found)
		rc = real_nvml.nvmlSystemGetTopologyGpuSet(cpuNumber, &found, all);
	return rc == NVML_SUCCESS ? hand_out(all, found, count, deviceArray) : rc;
}

/* Here the count is the room, and too little is refused. */
nvmlReturn_t nvmlUnitGetDevices(nvmlUnit_t unit, unsigned int *deviceCount, nvmlDevice_t *devices)
{
	nvmlDevice_t all[DEVICES_MAX];
	unsigned int found = DEVICES_MAX, room;
	nvmlReturn_t rc;

	if (!deviceCount || !devices || seen_all())
		return real_nvml.nvmlUnitGetDevices(unit, deviceCount, devices);
	rc = real_nvml.nvmlUnitGetDevices(unit, &found, all);
	if (rc != NVML_SUCCESS)
		return rc;
	room = *deviceCount;
	*deviceCount = seen_filter(all, found);
	if (*deviceCount > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(devices, all, *deviceCount * sizeof(*devices));
	return rc;
}

/* Leads the link to a hidden GPU? What is no GPU, such as a switch, is no secret. */
static bool leads_to_hidden(nvmlDevice_t device, unsigned int link)
{
	nvmlPciInfo_t far;

	if (seen_all() ||
	    (real_nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &far) != NVML_SUCCESS &&
	     real_nvml.nvmlDeviceGetNvLinkRemotePciInfo(device, link, &far) != NVML_SUCCESS))
		return false;
	return seen_address(far.domain, far.bus, far.device) == SEEN_HIDDEN;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link,
					      nvmlPciInfo_t *pci)
{
	device = seen_handle(device);
	return leads_to_hidden(device, link)
		       ? NVML_ERROR_NOT_SUPPORTED
		       : real_nvml.nvmlDeviceGetNvLinkRemotePciInfo(device, link, pci);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
						 nvmlPciInfo_t *pci)
{
	device = seen_handle(device);
	return leads_to_hidden(device, link)
		       ? NVML_ERROR_NOT_SUPPORTED
		       : real_nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, pci);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
						 nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType)
{
	device = seen_handle(device);
	return leads_to_hidden(device, link)
		       ? NVML_ERROR_NOT_SUPPORTED
		       : real_nvml.nvmlDeviceGetNvLinkRemoteDeviceType(device, link,
								       pNvLinkDeviceType);
}

/* A link with nothing at its other end is down. */
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
				      nvmlEnableState_t *isActive)
{
	nvmlReturn_t rc;

	device = seen_handle(device);
	rc = real_nvml.nvmlDeviceGetNvLinkState(device, link, isActive);
	if (rc == NVML_SUCCESS && leads_to_hidden(device, link))
		*isActive = NVML_FEATURE_DISABLED;
	return rc;
}
