/*
 * Handles and identity. All cards are seen here, in PCI order, whatever CUDA_VISIBLE_DEVICES says.
 */
#include "nvml_sim.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A handle is the address of its byte. */
static const char handle[CARDS_MAX];

const struct card *nvml_device(nvmlDevice_t device, unsigned int *index)
{
	const char *const at = (const char *)device;

	if (at < handle || at >= handle + config_get()->devices)
		return NULL;
	if (index)
		*index = (unsigned int)(at - handle);
	return &config_get()->card[at - handle];
}

const struct card *nvml_card(nvmlDevice_t device, unsigned int *index)
{
	const struct card *const card = nvml_device(device, index);

	return card && !card->gpu_instance ? card : NULL;
}

nvmlDevice_t nvml_handle(const unsigned int index)
{
	return (nvmlDevice_t)(uintptr_t)&handle[index];
}

NVAPI(nvmlDeviceGetCount_v2, (unsigned int *deviceCount), (deviceCount))
{
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = config_get()->cards;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetCount, (unsigned int *deviceCount), (deviceCount))
{
	return INNER(nvmlDeviceGetCount_v2)(deviceCount);
}

NVAPI(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device), (index, device))
{
	if (!device || index >= config_get()->cards)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = nvml_handle(index);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetHandleByIndex, (unsigned int index, nvmlDevice_t *device), (index, device))
{
	return INNER(nvmlDeviceGetHandleByIndex_v2)(index, device);
}

static nvmlReturn_t by_uuid(const char *text, nvmlDevice_t *device)
{
	unsigned int i;

	for (i = 0; i < config_get()->devices; i++)
		if (!strcasecmp(config_get()->card[i].uuid_text, text) ||
		    !strcasecmp(config_get()->card[i].other_text, text)) {
			*device = nvml_handle(i);
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

NVAPI(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device), (uuid, device))
{
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	return by_uuid(uuid, device);
}

NVAPI(nvmlDeviceGetHandleByUUIDV, (const nvmlUUID_t *uuid, nvmlDevice_t *device), (uuid, device))
{
	unsigned int i;

	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (uuid->version != nvmlUUID_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (uuid->type == NVML_UUID_TYPE_ASCII) {
		char text[NVML_DEVICE_UUID_ASCII_LEN + 1];

		snprintf(text, sizeof(text), "%.*s", NVML_DEVICE_UUID_ASCII_LEN, uuid->value.str);
		return by_uuid(text, device);
	}
	if (uuid->type != NVML_UUID_TYPE_BINARY)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (i = 0; i < config_get()->devices; i++)
		if (!memcmp(config_get()->card[i].uuid, uuid->value.bytes, 16)) {
			*device = nvml_handle(i);
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

NVAPI(nvmlDeviceGetHandleBySerial, (const char *serial, nvmlDevice_t *device), (serial, device))
{
	unsigned int i;

	if (!serial || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (i = 0; i < config_get()->cards; i++)
		if (!strcmp(config_get()->card[i].serial, serial)) {
			*device = nvml_handle(i);
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

unsigned int nvml_at_pci(unsigned int domain, unsigned int bus, unsigned int device)
{
	unsigned int i;

	for (i = 0; i < config_get()->cards; i++) {
		const struct card *const card = &config_get()->card[i];

		if (card->domain == domain && card->bus == bus && card->device == device)
			return i;
	}
	return CARDS_MAX;
}

NVAPI(nvmlDeviceGetHandleByPciBusId_v2, (const char *pciBusId, nvmlDevice_t *device),
      (pciBusId, device))
{
	unsigned int domain = 0, bus, slot, i;

	if (!pciBusId || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
		domain = 0;
		if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2)
			return NVML_ERROR_INVALID_ARGUMENT;
	}
	i = nvml_at_pci(domain, bus, slot);
	if (i == CARDS_MAX)
		return NVML_ERROR_NOT_FOUND;
	*device = nvml_handle(i);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetHandleByPciBusId, (const char *pciBusId, nvmlDevice_t *device),
      (pciBusId, device))
{
	return INNER(nvmlDeviceGetHandleByPciBusId_v2)(pciBusId, device);
}

NVAPI(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned int *index), (device, index))
{
	const struct card *const card = nvml_device(device, index);

	if (!card || !index)
		return NVML_ERROR_INVALID_ARGUMENT;
	/* Of an instance it counts on its card. */
	if (card->gpu_instance)
		*index = card->gpu_instance - 1;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetMinorNumber, (nvmlDevice_t device, unsigned int *minorNumber),
      (device, minorNumber))
{
	const struct card *const card = nvml_card(device, NULL);

	if (!card || !minorNumber)
		return NVML_ERROR_INVALID_ARGUMENT;
	*minorNumber = card->minor;
	return NVML_SUCCESS;
}

static nvmlReturn_t put(char *to, const unsigned int length, const char *text)
{
	if (!to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (length <= strlen(text))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetUUID, (nvmlDevice_t device, char *uuid, unsigned int length),
      (device, uuid, length))
{
	const struct card *const card = nvml_device(device, NULL);

	return card ? put(uuid, length, card->uuid_text) : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned int length),
      (device, name, length))
{
	const struct card *const card = nvml_device(device, NULL);

	return card ? put(name, length, card->name) : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceGetSerial, (nvmlDevice_t device, char *serial, unsigned int length),
      (device, serial, length))
{
	const struct card *const card = nvml_card(device, NULL);

	return card ? put(serial, length, card->serial) : NVML_ERROR_INVALID_ARGUMENT;
}

NVAPI(nvmlDeviceGetModuleId, (nvmlDevice_t device, unsigned int *moduleId), (device, moduleId))
{
	return moduleId && nvml_card(device, moduleId) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

void nvml_fill_pci(const struct card *card, nvmlPciInfo_t *pci, bool whole)
{
	memset(pci, 0, whole ? sizeof(*pci) : offsetof(nvmlPciInfo_t, busId));
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.0", card->domain,
		 card->bus, card->device);
	pci->domain = card->domain;
	pci->bus = card->bus;
	pci->device = card->device;
	pci->pciDeviceId = card->pci_id;
	pci->pciSubSystemId = 0x145510de;
	if (whole)
		snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", card->domain,
			 card->bus, card->device);
}

static nvmlReturn_t pci_info(nvmlDevice_t device, nvmlPciInfo_t *pci, const bool whole)
{
	const struct card *const card = nvml_card(device, NULL);

	if (!card || !pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	nvml_fill_pci(card, pci, whole);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t *pci), (device, pci))
{
	return pci_info(device, pci, true);
}

NVAPI(nvmlDeviceGetPciInfo_v2, (nvmlDevice_t device, nvmlPciInfo_t *pci), (device, pci))
{
	return pci_info(device, pci, false);
}

NVAPI(nvmlDeviceGetPciInfo, (nvmlDevice_t device, nvmlPciInfo_t *pci), (device, pci))
{
	return pci_info(device, pci, false);
}

NVAPI(nvmlDeviceGetPciInfoExt, (nvmlDevice_t device, nvmlPciInfoExt_t *pci), (device, pci))
{
	const struct card *const card = nvml_card(device, NULL);

	if (!card || !pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (pci->version != nvmlPciInfoExt_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	pci->domain = card->domain;
	pci->bus = card->bus;
	pci->device = card->device;
	pci->pciDeviceId = card->pci_id;
	pci->pciSubSystemId = 0x145510de;
	pci->baseClass = 3;
	pci->subClass = 2;
	snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", card->domain, card->bus,
		 card->device);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetPdi, (nvmlDevice_t device, nvmlPdi_t *pdi), (device, pdi))
{
	const struct card *const card = nvml_card(device, NULL);

	if (!card || !pdi)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (pdi->version != nvmlPdi_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memcpy(&pdi->value, card->uuid, sizeof(pdi->value));
	return NVML_SUCCESS;
}
