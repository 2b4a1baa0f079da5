/*
 * The devices that the tenant may see, and how the driver is made to see no others.
 *
 * Owns: the visible list by UUID in NVML's order, and the value of CUDA_VISIBLE_DEVICES while
 * the driver starts; a door to environ. Promises: nothing in the environment stays changed;
 * keeps errno; asks NVML only where the order of devices matters (an index, a prefix, a MIG
 * instance, or more than one name). A list that cannot be settled shows nothing, unless
 * CUQUOTA_ON_ERROR says allow.
 */
#ifndef POLICY_VISIBLE_H
#define POLICY_VISIBLE_H

#include "base/settings.h"
#include "driver/driver.h"

struct visible_device {
	struct uuid uuid; /* as CUDA names it: a GPU or a MIG instance */
	struct uuid gpu;  /* the GPU that it is or lies on */
	unsigned index;	  /* of that GPU in the real NVML, VISIBLE_UNKNOWN
			   * where NVML was not asked */
};
#define VISIBLE_UNKNOWN UINT32_MAX

/* What an NVML of many divided GPUs has beyond this many is not found by name. */
#define VISIBLE_MAX (4 * DEVICES_MAX)

struct visible {
	bool all; /* there is no list: everything is seen, and `device` is what
		   * NVML has, if it was asked */
	unsigned count;
	/* Behind these stands what else is named through them, where NVML was asked: instances that
	 * lie on a GPU of the list, GPUs that an instance of the list lies on. */
	unsigned more;
	struct visible_device device[VISIBLE_MAX];
};

/*
 * The list; `indices`: with NVML's indices, so NVML is asked. NULL: it cannot be settled (said
 * once), and nothing may be shown. What is returned does not change.
 */
const struct visible *visible_get(bool indices);

/* True when the list was refused or cannot be settled and CUQUOTA_ON_ERROR denies. */
bool visible_refused(void);

/*
 * The place of a device among the visible ones in NVML's order, for settings_limit and
 * settings_request. 0 when no setting counts places, without asking anybody; VISIBLE_UNKNOWN for
 * what has none, as only a part of it is in the list or only the GPU that it lies on. -ENODEV: not
 * visible, or NVML cannot be asked.
 */
int visible_place(const struct uuid *uuid, unsigned *place);
/* The start of NVML, to be paired with its shutdown. 0, or NVML's own code. */
int visible_start_nvml(void);

/* For the same two: numbers an instance where settings name one by its old name, and asks NVML only
 * then. 0 or -ENODEV. */
int visible_number(struct uuid *uuid);

/* The real cuInit, with the hidden devices hidden by the driver itself. One thread at a time; never
 * fails because of another. */
CUresult visible_init(unsigned flags);

/*
 * CUDA_ERROR_NOT_PERMITTED when the list cannot be settled or the driver shows a device outside it,
 * however it was started; else CUDA_SUCCESS. Looks at the driver once.
 */
CUresult visible_check(void);

/* The device of the list that is `uuid`; NULL: none is. */
const struct visible_device *visible_exact(const struct visible *list, const struct uuid *uuid);
/* The device of the list that is `uuid` or lies on it; NULL: hidden. */
const struct visible_device *visible_find(const struct visible *list, const struct uuid *uuid);
/* The first of the list, or named through it, that bears the name, and how many do. */
const struct visible_device *visible_match(const struct visible *list, const struct uuid_name *name,
					   unsigned *found);

/* While NVML runs: all that it has, as the list of one who sees all; the name of a device. 0 or
 * -errno. */
int visible_ask(struct visible *all);
int visible_uuid(nvmlDevice_t handle, struct uuid *uuid);

/* The driver has no device: so it lacks the one name that NVML was not asked about. For
 * visible.c. */
void visible_say_absent(const struct visible *list);

/* This thread is inside our own question to NVML or the driver: a hook that is reached passes. */
bool visible_is_asking(void);

/* One thread of the process at a time may ask; not cancelled meanwhile; keeps
 * errno. For visible.c. */
struct visible_hold {
	int cancel, error;
};
struct visible_hold visible_enter(void);
void visible_leave(const struct visible_hold *hold);

#endif
