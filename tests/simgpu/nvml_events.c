/*
 * Events, records of errors, and what an administrator does to a card by its address: taking it out
 * of use and looking for it anew. Nothing of it changes a card here.
 *
 * SIMGPU_EVENT=i: every set that watches any card at once gets an error of card i, and every set of
 * the system's that each card came.
 */
#include "nvml_sim.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SETS = 16, XID = 79 };

static struct event_set {
	bool used, watches;
} sets[SETS];

static struct event_set *set_of(const void *handle)
{
	unsigned int i;

	for (i = 0; i < SETS; i++)
		if (&sets[i] == handle && sets[i].used)
			return &sets[i];
	return NULL;
}

static void *set_new(void)
{
	unsigned int i;

	for (i = 0; i < SETS; i++)
		if (!sets[i].used) {
			sets[i] = (struct event_set){ .used = true };
			return &sets[i];
		}
	return NULL;
}

static unsigned int card_named(const char *uuid)
{
	unsigned int i;

	for (i = 0; i < config_get()->cards; i++)
		if (!strcasecmp(config_get()->card[i].uuid_text, uuid))
			return i;
	return CARDS_MAX;
}

NVAPI(nvmlEventSetCreate, (nvmlEventSet_t *set), (set))
{
	void *made;

	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	made = set_new();
	*set = made;
	return made ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

NVAPI(nvmlEventSetFree, (nvmlEventSet_t set), (set))
{
	struct event_set *const s = set_of(set);

	if (!s)
		return NVML_ERROR_UNKNOWN;
	s->used = false;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceRegisterEvents,
      (nvmlDevice_t device, unsigned long long eventTypes, nvmlEventSet_t set),
      (device, eventTypes, set))
{
	struct event_set *const s = set_of(set);

	if (!nvml_card(device, NULL) || !s)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (eventTypes & ~(unsigned long long)nvmlEventTypeXidCriticalError)
		return NVML_ERROR_NOT_SUPPORTED;
	s->watches = true;
	return NVML_SUCCESS;
}

NVAPI(nvmlEventSetRegisterGpuOperationalEvents_v1,
      (nvmlEventSet_t eventSet, const nvmlGpuOperationalEventConfig_v1_t *config),
      (eventSet, config))
{
	struct event_set *const s = set_of(eventSet);

	if (!s || !config || card_named(config->uuid) == CARDS_MAX)
		return NVML_ERROR_INVALID_ARGUMENT;
	s->watches = true;
	return NVML_SUCCESS;
}

static nvmlReturn_t wait_for(nvmlEventSet_t set, const void *to, const unsigned int ms)
{
	const struct event_set *const s = set_of(set);

	if (!s || !to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (s->watches && config_get()->event_card < CARDS_MAX)
		return NVML_SUCCESS;
	usleep(ms * 1000U);
	return NVML_ERROR_TIMEOUT;
}

NVAPI(nvmlEventSetWait_v2,
      (nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms), (set, data, timeoutms))
{
	const nvmlReturn_t rc = wait_for(set, data, timeoutms);

	if (rc == NVML_SUCCESS)
		*data = (nvmlEventData_t){ .device = nvml_handle(config_get()->event_card),
					   .eventType = nvmlEventTypeXidCriticalError,
					   .eventData = XID,
					   .gpuInstanceId = ~0U,
					   .computeInstanceId = ~0U };
	return rc;
}

NVAPI(nvmlEventSetWait, (nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms),
      (set, data, timeoutms))
{
	const nvmlReturn_t rc = wait_for(set, data, timeoutms);

	/* The structure ended here. */
	if (rc == NVML_SUCCESS) {
		data->device = nvml_handle(config_get()->event_card);
		data->eventType = nvmlEventTypeXidCriticalError;
		data->eventData = XID;
	}
	return rc;
}

NVAPI(nvmlEventSetWait_v3, (nvmlEventSet_t set, nvmlEventSetWait_v3_t *params), (set, params))
{
	const nvmlReturn_t rc = wait_for(set, params, params ? params->timeoutMs : 0);

	if (rc == NVML_SUCCESS) {
		params->dataType = NVML_EVENT_DATA_TYPE_NVML_EVENT;
		snprintf(params->uuid, sizeof(params->uuid), "%s",
			 config_get()->card[config_get()->event_card].uuid_text);
		params->eventType = nvmlEventTypeXidCriticalError;
		params->eventData = XID;
	}
	return rc;
}

NVAPI(nvmlSystemEventSetCreate, (nvmlSystemEventSetCreateRequest_t *request), (request))
{
	if (!request)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (request->version != nvmlSystemEventSetCreateRequest_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	request->set = set_new();
	return request->set ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

NVAPI(nvmlSystemEventSetFree, (nvmlSystemEventSetFreeRequest_t *request), (request))
{
	struct event_set *s;

	if (!request)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (request->version != nvmlSystemEventSetFreeRequest_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	s = set_of(request->set);
	if (!s)
		return NVML_ERROR_INVALID_ARGUMENT;
	s->used = false;
	return NVML_SUCCESS;
}

NVAPI(nvmlSystemRegisterEvents, (nvmlSystemRegisterEventRequest_t *request), (request))
{
	struct event_set *s;

	if (!request)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (request->version != nvmlSystemRegisterEventRequest_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	s = set_of(request->set);
	if (!s)
		return NVML_ERROR_INVALID_ARGUMENT;
	s->watches = true;
	return NVML_SUCCESS;
}

NVAPI(nvmlSystemEventSetWait, (nvmlSystemEventSetWaitRequest_t *request), (request))
{
	const struct event_set *s;
	unsigned int i;

	if (!request)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (request->version != nvmlSystemEventSetWaitRequest_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	s = set_of(request->set);
	if (!s || !request->data)
		return NVML_ERROR_INVALID_ARGUMENT;
	request->numEvent = 0;
	if (!s->watches || config_get()->event_card == CARDS_MAX) {
		usleep(request->timeoutms * 1000U);
		return NVML_ERROR_TIMEOUT;
	}
	for (i = 0; i < config_get()->cards && i < request->dataSize; i++) {
		const struct card *const card = &config_get()->card[i];

		request->data[i].eventType = nvmlSystemEventTypeGpuDriverBind;
		request->data[i].gpuId = card->domain << 16 | card->bus << 8 | card->device;
	}
	request->numEvent = i;
	return NVML_SUCCESS;
}

/* Of no card there are records. */
NVAPI(nvmlSystemGetCPER_v1, (nvmlGetCPER_v1_t *cper), (cper))
{
	if (!cper || (!cper->buffer && cper->bufferSize))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (cper->cursor.uuid[0] && card_named(cper->cursor.uuid) == CARDS_MAX)
		return NVML_ERROR_INVALID_ARGUMENT;
	cper->bufferSize = 0;
	return NVML_SUCCESS;
}

static bool is_here(const nvmlPciInfo_t *pci)
{
	return pci && nvml_at_pci(pci->domain, pci->bus, pci->device) != CARDS_MAX;
}

NVAPI(nvmlDeviceModifyDrainState, (nvmlPciInfo_t *pciInfo, nvmlEnableState_t newState),
      (pciInfo, newState))
{
	return is_here(pciInfo) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceQueryDrainState, (nvmlPciInfo_t *pciInfo, nvmlEnableState_t *currentState),
      (pciInfo, currentState))
{
	if (!is_here(pciInfo) || !currentState)
		return NVML_ERROR_INVALID_ARGUMENT;
	*currentState = NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceRemoveGpu_v2,
      (nvmlPciInfo_t *pciInfo, nvmlDetachGpuState_t gpuState, nvmlPcieLinkState_t linkState),
      (pciInfo, gpuState, linkState))
{
	return is_here(pciInfo) ? NVML_ERROR_IN_USE : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceRemoveGpu, (nvmlPciInfo_t *pciInfo), (pciInfo))
{
	return is_here(pciInfo) ? NVML_ERROR_IN_USE : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceDiscoverGpus, (nvmlPciInfo_t *pciInfo), (pciInfo))
{
	const bool everywhere = pciInfo && !pciInfo->domain && !pciInfo->bus && !pciInfo->device;

	return everywhere || is_here(pciInfo) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The one that the machine keeps for itself, if there is a chassis. */
NVANYTIME(nvmlGetExcludedDeviceCount, (unsigned int *deviceCount), (deviceCount))
{
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = config_get()->chassis;
	return NVML_SUCCESS;
}

NVANYTIME(nvmlGetExcludedDeviceInfoByIndex, (unsigned int index, nvmlExcludedDeviceInfo_t *info),
	  (index, info))
{
	static const struct card excluded = { .bus = 0xf1, .pci_id = 0x51ff10de };

	if (!info || index >= config_get()->chassis)
		return NVML_ERROR_INVALID_ARGUMENT;
	nvml_fill_pci(&excluded, &info->pciInfo, true);
	strcpy(info->uuid, "GPU-0e0c1ded-0000-4000-8000-000000000001");
	return NVML_SUCCESS;
}

NVANYTIME(nvmlGetBlacklistDeviceCount, (unsigned int *deviceCount), (deviceCount))
{
	return INNER(nvmlGetExcludedDeviceCount)(deviceCount);
}

NVANYTIME(nvmlGetBlacklistDeviceInfoByIndex, (unsigned int index, nvmlExcludedDeviceInfo_t *info),
	  (index, info))
{
	return INNER(nvmlGetExcludedDeviceInfoByIndex)(index, info);
}
