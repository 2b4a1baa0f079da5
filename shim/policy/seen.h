/*
 * Which of NVML's devices the visible list shows.
 *
 * Owns nothing: the list is visible.h's, and what a handle, a name or an address stands for is
 * asked of NVML each time. Promises: never calls into a hook; a device that NVML does not know is
 * no secret, and is left to NVML to refuse. Must never: hand on a device that is not SEEN_SHOWN.
 */
#ifndef POLICY_SEEN_H
#define POLICY_SEEN_H

#include "policy/visible.h"

enum seen {
	SEEN_UNKNOWN, /* NVML knows no such device */
	SEEN_HIDDEN,  /* also when the list cannot be settled */
	SEEN_SHOWN,   /* also whatever it is, when there is no list */
};

/* The list with NVML's indices, which are not asked for where all is seen. NULL: nothing
 * may be shown. */
const struct visible *seen_list(void);
/* There is no list: all is seen. Does not ask NVML. */
bool seen_all(void);

/* The GPUs of the list, each once: several instances may lie on one. NULL: there
 * are not so many. */
const struct visible_device *seen_gpu(const struct visible *list, unsigned place);
/* The device of the list that a handle stands for, or lies on, or that lies on it; NULL: hidden or
 * unknown. */
const struct visible_device *seen_of(const struct visible *list, nvmlDevice_t handle);

enum seen seen_device(nvmlDevice_t handle);
enum seen seen_uuid(const char *text);
enum seen seen_address(unsigned domain, unsigned bus, unsigned device);

/* A part of a divided GPU, by the numbers that it has there: is it one of a device that is shown?
 * SEEN_ANY: whatever compute instance. */
#define SEEN_ANY UINT32_MAX
bool seen_part(nvmlDevice_t gpu, unsigned gpu_instance, unsigned compute_instance);

/* The handle to ask NVML with: NULL, which NVML refuses as it does a wrong one, for a hidden
 * device. */
nvmlDevice_t seen_handle(nvmlDevice_t handle);

/* Leaves the shown ones, in order; returns how many. */
unsigned seen_filter(nvmlDevice_t *devices, unsigned count);

#endif
