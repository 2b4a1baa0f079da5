/*
 * Devices and the driver itself, as the application sees them after CUDA_VISIBLE_DEVICES.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUresult device_card(const CUdevice device, unsigned int *card)
{
	if (device < 0 || (unsigned int)device >= sim.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*card = sim.device[device];
	return CUDA_SUCCESS;
}

CUdevice device_of_card(const unsigned int card)
{
	unsigned int i;

	for (i = 0; i < sim.devices; i++)
		if (sim.device[i] == card)
			return (CUdevice)i;
	return -1;
}

enum { POOLS = 11020 };

static const struct card *card_of(const CUdevice device)
{
	unsigned int card;

	return device_card(device, &card) ? NULL : &config_get()->card[card];
}

ANYTIME(cuDriverGetVersion, (int *driverVersion), (driverVersion))
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = (int)config_get()->version;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetCount, (int *count), (count))
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = (int)sim.devices;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!card_of(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetName, (char *name, int len, CUdevice dev), (name, len, dev))
{
	const struct card *const card = card_of(dev);

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "%s", card->name);
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetUuid, (CUuuid *uuid, CUdevice dev), (uuid, dev))
{
	const struct card *card = card_of(dev);

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	/* This version names an instance by its card. */
	if (card->gpu_instance)
		card = &config_get()->card[card->parent];
	memcpy(uuid->bytes, card->uuid, 16);
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice dev), (uuid, dev))
{
	const struct card *const card = card_of(dev);

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	/* A driver that names instances by numbers lacks this version. */
	if (card->gpu_instance && strchr(card->uuid_text, '/'))
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(uuid->bytes, card->uuid, 16);
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev), (bytes, dev))
{
	const struct card *const card = card_of(dev);

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = card->bytes;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceTotalMem, (unsigned int *bytes, CUdevice dev), (bytes, dev))
{
	size_t total;
	const CUresult rc = bytes ? INNER(cuDeviceTotalMem_v2)(&total, dev) :
				    CUDA_ERROR_INVALID_VALUE;

	if (!rc)
		*bytes = total > UINT32_MAX ? UINT32_MAX : (unsigned int)total;
	return rc;
}

static const struct {
	int attribute, value;
} attributes[] = {
	{ 1, 1024 }, { 2, 1024 }, { 3, 1024 }, { 4, 64 }, { 5, 2147483647 }, { 6, 65535 },
	{ 7, 65535 }, { 8, 49152 }, { 9, 65536 }, { 10, 32 }, { 11, 2147483647 }, { 12, 65536 },
	{ 13, 1410000 }, { 14, 512 }, { 15, 1 }, { 16, 108 }, { 17, 0 }, { 18, 0 }, { 19, 1 },
	{ 20, 0 }, { 21, 131072 }, { 22, 131072 }, { 23, 65536 }, { 24, 16384 }, { 25, 16384 },
	{ 26, 16384 }, { 27, 32768 }, { 28, 32768 }, { 29, 2048 }, { 30, 512 }, { 31, 1 },
	{ 32, 1 }, { 35, 0 }, { 36, 1215000 }, { 37, 5120 }, { 38, 41943040 }, { 39, 2048 },
	{ 40, 3 }, { 41, 1 }, { 42, 32768 }, { 43, 2048 }, { 44, 1 }, { 45, 32768 },
	{ 46, 32768 }, { 47, 8192 }, { 48, 8192 }, { 49, 32768 }, { 51, 32 }, { 52, 32768 },
	{ 53, 32768 }, { 54, 2046 }, { 55, 32768 }, { 56, 131072 }, { 57, 65536 }, { 58, 16384 },
	{ 59, 16384 }, { 60, 16384 }, { 61, 32768 }, { 62, 2048 }, { 63, 32768 }, { 64, 32768 },
	{ 65, 2048 }, { 66, 32768 }, { 67, 32768 }, { 68, 2046 }, { 69, 268435456 },
	{ 70, 131072 }, { 71, 65000 }, { 72, 2097120 }, { 73, 32768 }, { 74, 32768 }, { 75, 8 },
	{ 76, 0 }, { 77, 32768 }, { 78, 1 }, { 79, 1 }, { 80, 1 }, { 81, 167936 }, { 82, 65536 },
	{ 83, 1 }, { 84, 0 }, { 86, 0 }, { 87, 2 }, { 88, 0 }, { 89, 1 }, { 90, 1 }, { 91, 1 },
	{ 92, 1 }, { 93, 1 }, { 94, 1 }, { 95, 1 }, { 96, 1 }, { 97, 166912 }, { 98, 0 }, { 99, 1 },
	{ 100, 0 }, { 101, 0 }, { 102, 1 }, { 103, 1 }, { 104, 0 }, { 105, 0 }, { 106, 32 },
	{ 107, 0 }, { 108, 31457280 }, { 109, 134213632 }, { 110, 0 }, { 111, 1024 }, { 112, 0 },
	{ 113, 1 }, { 114, 1 }, { 116, 0 }, { 117, 0 }, { 118, 100 }, { 119, 0 },
	{ 120, 0 }, { 121, 0 }, { 122, 1 }, { 123, 1 }, { 124, 0 }, { 125, 0 }, { 126, 1 },
	{ 127, 0 }, { 128, 0 }, { 129, 0 }, { 130, 0 }, { 131, -1 }, { 132, 0 }, { 133, 0 },
	{ 134, 0 }, { 135, 0 }, { 136, 0 }, { 137, 0 }, { 138, 0 }, { 140, 0x145510de },
	{ 141, 0 }, { 142, 0 }, { 143, 0 }, { 144, 0 }, { 145, 1 }, { 146, 0 }, { 147, 0 },
	{ 148, 0 },
};

CUAPI(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev))
{
	const struct card *const card = card_of(dev);
	size_t i;

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attrib) {
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*pi = (int)card->bus;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*pi = (int)card->device;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*pi = (int)card->domain;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID:
		*pi = (int)card->pci_id;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
		*pi = dev;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
		*pi = config_get()->version >= POOLS;
		return CUDA_SUCCESS;
	}
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == (int)attrib) {
			*pi = attributes[i].value;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuDeviceGetPCIBusId, (char *pciBusId, int len, CUdevice dev), (pciBusId, len, dev))
{
	const struct card *const card = card_of(dev);

	if (!card)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pciBusId || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0", card->domain, card->bus, card->device);
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetByPCIBusId, (CUdevice *dev, const char *pciBusId), (dev, pciBusId))
{
	unsigned int domain = 0, bus, device, i;
	int end = 0;

	if (!dev || !pciBusId)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(pciBusId, "%x:%x:%x%n", &domain, &bus, &device, &end) != 3) {
		domain = 0;
		if (sscanf(pciBusId, "%x:%x%n", &bus, &device, &end) != 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (i = 0; i < sim.devices; i++) {
		const struct card *const card = card_of((CUdevice)i);

		if (card->domain == domain && card->bus == bus && card->device == device) {
			*dev = (CUdevice)i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUAPI(cuDeviceComputeCapability, (int *major, int *minor, CUdevice dev), (major, minor, dev))
{
	if (!card_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = 8;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetProperties, (CUdevprop *prop, CUdevice dev), (prop, dev))
{
	if (!card_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	memset(prop, 0, sizeof(*prop));
	prop->maxThreadsPerBlock = 1024;
	prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
	prop->maxThreadsDim[2] = 64;
	prop->maxGridSize[0] = 2147483647;
	prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
	prop->sharedMemPerBlock = 49152;
	prop->totalConstantMemory = 65536;
	prop->SIMDWidth = 32;
	prop->memPitch = 2147483647;
	prop->regsPerBlock = 65536;
	prop->clockRate = 1410000;
	prop->textureAlign = 512;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceCanAccessPeer, (int *canAccessPeer, CUdevice dev, CUdevice peerDev),
      (canAccessPeer, dev, peerDev))
{
	if (!card_of(dev) || !card_of(peerDev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetP2PAttribute,
      (int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice),
      (value, attrib, srcDevice, dstDevice))
{
	if (!card_of(srcDevice) || !card_of(dstDevice) || srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUAPI(cuDeviceGetLuid, (char *luid, unsigned int *deviceNodeMask, CUdevice dev),
      (luid, deviceNodeMask, dev))
{
	return CUDA_ERROR_NOT_SUPPORTED; /* Windows only */
}

CUAPI(cuDeviceGetExecAffinitySupport, (int *pi, CUexecAffinityType type, CUdevice dev),
      (pi, type, dev))
{
	if (!card_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = 0;
	return CUDA_SUCCESS;
}

CUAPI(cuDeviceGetTexture1DLinearMaxWidth,
      (size_t *maxWidthInElements, CUarray_format format, unsigned numChannels, CUdevice dev),
      (maxWidthInElements, format, numChannels, dev))
{
	if (!card_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!maxWidthInElements)
		return CUDA_ERROR_INVALID_VALUE;
	*maxWidthInElements = 268435456;
	return CUDA_SUCCESS;
}
