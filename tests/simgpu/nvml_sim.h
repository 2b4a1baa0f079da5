/*
 * What the files of the simulated libnvidia-ml share.
 */
#ifndef SIMGPU_NVML_SIM_H
#define SIMGPU_NVML_SIM_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "account.h"
#include "config.h"
#include "trace.h"

/* Exported, and only renamed by the header. */
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *deviceCount);
nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info);

/* 1 while nvmlInit is ahead of nvmlShutdown, else the code to return. */
int sim_guard(void);

#define NVAPI(name, params, args)                                                               \
	static nvmlReturn_t sim_##name params;                                                  \
	SIM_ENTRY(nvmlReturn_t, name, sim_guard(), params, args, sim_##name)                    \
	static inline nvmlReturn_t sim_##name params

#define NVANYTIME(name, params, args)                                                           \
	static nvmlReturn_t sim_##name params;                                                  \
	SIM_ENTRY(nvmlReturn_t, name, 0, params, args, sim_##name)                              \
	static inline nvmlReturn_t sim_##name params

#ifdef SIMGPU_PLT
#define INNER(name) name
#else
#define INNER(name) sim_##name
#endif

/* The card behind a handle, its index, or NULL. */
const struct card *nvml_card(nvmlDevice_t device, unsigned int *index);
/* The same of a handle that may be an instance's. */
const struct card *nvml_device(nvmlDevice_t device, unsigned int *index);
nvmlDevice_t nvml_handle(unsigned int index);
/* `whole`: with the long address, which the first two versions of the structure do not have. */
void nvml_fill_pci(const struct card *card, nvmlPciInfo_t *pci, bool whole);
/* The card at an address of PCI; CARDS_MAX: none. */
unsigned int nvml_at_pci(unsigned int domain, unsigned int bus, unsigned int device);
/* The account, reaped; NULL where no process has ever used a card. */
struct account *nvml_account(void);

#endif
