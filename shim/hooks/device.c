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
	const CUresult rc = real.cuDeviceTotalMem(bytes, dev);
	const struct device *const device = rc == CUDA_SUCCESS ? device_at(dev) : NULL;

	if (device && device_total(device) < device->bytes) {
		const uint64_t total = device_total(device);

		*bytes = total < UINT_MAX ? (unsigned int)total : UINT_MAX;
	}
	return rc;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const CUresult rc = real.cuDeviceTotalMem_v2(bytes, dev);
	const struct device *const device = rc == CUDA_SUCCESS ? device_at(dev) : NULL;

	if (device)
		*bytes = device_total(device);
	return rc;
}
