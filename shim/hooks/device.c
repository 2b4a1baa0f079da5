/* Starting the driver, and the devices that it shows. */
#include "policy/state.h"
#include "policy/visible.h"

#include <limits.h>

CUresult cuInit(unsigned int Flags)
{
	const CUresult rc = state_starting();

	return rc == CUDA_SUCCESS ? state_started(visible_init(Flags)) : rc;
}

/* However the driver was started: a device outside the list is not handed on. */
static CUresult checked(CUresult rc)
{
	return rc == CUDA_SUCCESS ? visible_check() : rc;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	return checked(real.cuDeviceGet(device, ordinal));
}

CUresult cuDeviceGetCount(int *count)
{
	return checked(real.cuDeviceGetCount(count));
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	return checked(real.cuDeviceGetByPCIBusId(dev, pciBusId));
}

/* Its unit is 32 bits wide; a driver says as much as fits. */
CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	const CUresult rc = checked(real.cuDeviceTotalMem(bytes, dev));
	const struct device *const device = rc == CUDA_SUCCESS ? device_at(dev) : NULL;

	if (device && device_total(device) < device->bytes) {
		const uint64_t total = device_total(device);

		*bytes = total < UINT_MAX ? (unsigned int)total : UINT_MAX;
	}
	return rc;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const CUresult rc = checked(real.cuDeviceTotalMem_v2(bytes, dev));
	const struct device *const device = rc == CUDA_SUCCESS ? device_at(dev) : NULL;

	if (device)
		*bytes = device_total(device);
	return rc;
}

/* Who a device is, and how it lies to another. */
CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	return checked(real.cuDeviceGetName(name, len, dev));
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return checked(real.cuDeviceGetUuid(uuid, dev));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return checked(real.cuDeviceGetUuid_v2(uuid, dev));
}

CUresult cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	return checked(real.cuDeviceGetLuid(luid, deviceNodeMask, dev));
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	return checked(real.cuDeviceGetPCIBusId(pciBusId, len, dev));
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	return checked(real.cuDeviceGetAttribute(pi, attrib, dev));
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	return checked(real.cuDeviceCanAccessPeer(canAccessPeer, dev, peerDev));
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
				 CUdevice dstDevice)
{
	return checked(real.cuDeviceGetP2PAttribute(value, attrib, srcDevice, dstDevice));
}
