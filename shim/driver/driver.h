/*
 * The real libraries: the driver (libcuda) and NVML, as tables of the functions that we call.
 *
 * Owns: the only inclusion of <cuda.h> and <nvml.h>, under the macros that make them declare every
 * exported version of a name under its own name. A wrapper that includes this file therefore fails
 * to compile if its signature is wrong.
 * Promises: `real.sym` and `real_nvml.sym` may be called at any time, from any thread, also
 * as the very first call of the process, and are never NULL: what the loaded driver lacks
 * answers "not found", and where there is no driver at all everything answers "no device".
 * They never lead back into a hook.
 * Must never: open a driver before somebody calls into it.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include <stdbool.h>

/* Wrappers are what this library exports, whatever -fvisibility says. */
#pragma GCC visibility push(default)
#define __CUDA_API_VERSION_INTERNAL /* NOLINT(bugprone-reserved-identifier,cert-*): NVIDIA's name */
#include <cuda.h>
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
/* Exported for programs of before 2020; the header only renames them. */
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *deviceCount);
nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info);
#pragma GCC visibility pop
/* What NVIDIA advises against is still called by programs. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct driver {
#define HOOK(sym) __typeof__(&sym) sym;
#define CALL(sym) __typeof__(&sym) sym;
#define PASS(sym)
#include "driver/cuda.def"
};

struct nvml_driver {
#define HOOK(sym) __typeof__(&sym) sym;
#define CALL(sym) __typeof__(&sym) sym;
#define PASS(sym)
#include "driver/nvml.def"
};

extern struct driver driver_table;
extern struct nvml_driver nvml_driver_table;
extern bool driver_ready, nvml_driver_ready;

/* Fill the table and set the flag. Keep errno; several threads may come at once. */
void driver_load(void);
void nvml_driver_load(void);

static inline struct driver *driver_get(void)
{
	if (__builtin_expect(!__atomic_load_n(&driver_ready, __ATOMIC_ACQUIRE), 0))
		driver_load();
	return &driver_table;
}

static inline struct nvml_driver *nvml_driver_get(void)
{
	if (__builtin_expect(!__atomic_load_n(&nvml_driver_ready, __ATOMIC_ACQUIRE), 0))
		nvml_driver_load();
	return &nvml_driver_table;
}

#define real (*driver_get())
#define real_nvml (*nvml_driver_get())

/* Is a limit or a request in force? Until the policy floor knows, yes. */
bool limited(void);

/* Another copy of this library came first in this process: wrappers of this one must do
 * nothing of their own. */
bool driver_aside(void);

#endif
