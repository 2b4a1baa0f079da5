/*
 * What monitoring tools and NCCL ask besides: utilisation, sensors.
 */
#include "nvml_sim.h"

#include <string.h>

#define NEED(pointer)                                                                           \
	do {                                                                                    \
		if (!nvml_card(device, NULL) || !(pointer))                                     \
			return NVML_ERROR_INVALID_ARGUMENT;                                     \
	} while (0)

NVAPI(nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, nvmlUtilization_t *utilization),
      (device, utilization))
{
	NEED(utilization);
	utilization->gpu = utilization->memory = 0;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetBAR1MemoryInfo, (nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory),
      (device, bar1Memory))
{
	NEED(bar1Memory);
	bar1Memory->bar1Total = 256ULL << 20;
	bar1Memory->bar1Used = 1ULL << 20;
	bar1Memory->bar1Free = bar1Memory->bar1Total - bar1Memory->bar1Used;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor),
      (device, major, minor))
{
	NEED(major && minor);
	*major = 8;
	*minor = 0;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetBrand, (nvmlDevice_t device, nvmlBrandType_t *type), (device, type))
{
	NEED(type);
	*type = NVML_BRAND_NVIDIA;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetArchitecture, (nvmlDevice_t device, nvmlDeviceArchitecture_t *arch),
      (device, arch))
{
	NEED(arch);
	*arch = NVML_DEVICE_ARCH_AMPERE;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetComputeMode, (nvmlDevice_t device, nvmlComputeMode_t *mode), (device, mode))
{
	NEED(mode);
	*mode = NVML_COMPUTEMODE_DEFAULT;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetPersistenceMode, (nvmlDevice_t device, nvmlEnableState_t *mode), (device, mode))
{
	NEED(mode);
	*mode = NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetPerformanceState, (nvmlDevice_t device, nvmlPstates_t *pState), (device, pState))
{
	NEED(pState);
	*pState = NVML_PSTATE_0;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetTemperature,
      (nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp),
      (device, sensorType, temp))
{
	NEED(temp);
	*temp = 40;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned int *power), (device, power))
{
	NEED(power);
	*power = 50000;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *limit), (device, limit))
{
	NEED(limit);
	*limit = 400000;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock),
      (device, type, clock))
{
	NEED(clock);
	*clock = type == NVML_CLOCK_MEM ? 1215 : 210;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock),
      (device, type, clock))
{
	NEED(clock);
	*clock = type == NVML_CLOCK_MEM ? 1215 : 1410;
	return NVML_SUCCESS;
}
