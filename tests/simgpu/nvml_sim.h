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
nvmlDevice_t nvml_handle(unsigned int index);
/* The account, reaped; NULL where no process has ever used a card. */
struct account *nvml_account(void);

#endif
