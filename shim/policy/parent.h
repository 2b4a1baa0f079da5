/*
 * The divided GPU that a MIG instance lies on, as a device of its own: its limit bounds what the
 * tenant's instances on it have together. Owns: what is asked of NVML about it, as CUDA shows only
 * the instance.
 */
#ifndef POLICY_PARENT_H
#define POLICY_PARENT_H

#include "policy/state.h"

/*
 * All that is known of the GPU, but for its place in the table. Its size is NVML's, which counts
 * what the driver keeps for itself. False: NVML does not tell the size; said, where a setting names
 * the GPU and so cannot be held.
 */
bool parent_describe(const struct uuid *gpu, struct device *parent);
/* Does a setting name the GPU, at that place, other than by `*`? */
bool parent_is_named(const struct uuid *gpu, unsigned place);

#endif
