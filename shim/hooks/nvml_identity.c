/*
 * What NVML says of who a device is. A shown one's is the truth, the minor number too, which names
 * the file below /dev. Of a hidden one nobody is given a handle; who kept or made up one is
 * answered as for a wrong one.
 */
#include "policy/seen.h"

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	return real_nvml.nvmlDeviceGetUUID(seen_handle(device), uuid, length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	return real_nvml.nvmlDeviceGetName(seen_handle(device), name, length);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	return real_nvml.nvmlDeviceGetSerial(seen_handle(device), serial, length);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
	return real_nvml.nvmlDeviceGetMinorNumber(seen_handle(device), minorNumber);
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *boardId)
{
	return real_nvml.nvmlDeviceGetBoardId(seen_handle(device), boardId);
}

nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int *moduleId)
{
	return real_nvml.nvmlDeviceGetModuleId(seen_handle(device), moduleId);
}

nvmlReturn_t nvmlDeviceGetPdi(nvmlDevice_t device, nvmlPdi_t *pdi)
{
	return real_nvml.nvmlDeviceGetPdi(seen_handle(device), pdi);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return real_nvml.nvmlDeviceGetPciInfo(seen_handle(device), pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return real_nvml.nvmlDeviceGetPciInfo_v2(seen_handle(device), pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return real_nvml.nvmlDeviceGetPciInfo_v3(seen_handle(device), pci);
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	return real_nvml.nvmlDeviceGetPciInfoExt(seen_handle(device), pci);
}
