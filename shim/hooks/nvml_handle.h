/*
 * The device behind one of NVML's handles, for the wrappers here: a GPU or a MIG instance, by its
 * UUID.
 */
#ifndef HOOKS_NVML_HANDLE_H
#define HOOKS_NVML_HANDLE_H

#include "policy/visible.h"

/* NVML's own code where it knows no UUID. */
static inline nvmlReturn_t handle_uuid(nvmlDevice_t handle, struct uuid *uuid)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text));

	if (rc != NVML_SUCCESS)
		return rc;
	if (uuid_parse(span_of(text), uuid))
		return NVML_ERROR_UNKNOWN;
	/* A driver before R470 gives instances no UUID: in CUDA, and so in the ledgers, they are
	 * their GPU. */
	if (uuid->mig == UUID_MIG_OLD)
		uuid->mig = 0;
	return visible_number(uuid) ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

#endif
