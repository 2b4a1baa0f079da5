/*
 * What this process is in the ledgers: its devices, its place in each, and whether it is capped at
 * all.
 * Owns: starting (once, whoever calls first), the table of devices, the current device, and what is
 * shown.
 * Promise: a forked child finds itself not started with one load and starts afresh; a refused
 * setting or ledger is said once and then denies, unless CUQUOTA_ON_ERROR allows. Must never: start
 * for a process that does not use CUDA.
 */
#ifndef POLICY_STATE_H
#define POLICY_STATE_H

#include "driver/driver.h"
#include "base/uuid.h"
#include "ledger/account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One device that CUDA shows to this process, or the divided GPU that MIG instances among them lie
 * on. Made at start; only `member` and `segment` change, by a rejoin. */
struct device {
	CUdevice ordinal; /* none of a divided GPU */
	uint8_t index;	  /* in the table of devices */
	bool divided;	  /* a GPU: its account has what this process's instances have together */
	unsigned place;	  /* among the visible ones in NVML's order; 0 where nothing counts them */
	struct uuid uuid;
	char name[UUID_TEXT];
	uint64_t bytes;		     /* physical */
	uint32_t grain;		     /* units of 64 KiB */
	struct segment *segment;     /* ordinary memory: a forked child uses the mapping again */
	struct member *member;	     /* in memory that fork wipes */
	const struct device *parent; /* of an instance: the GPU; NULL otherwise */
};

/*
 * The two halves of the cuInit hook. state_starting comes before the real cuInit (it keeps low
 * descriptors free for the hold locks); state_started takes the driver's code and joins. Any other
 * code than CUDA_SUCCESS is what the hook returns.
 */
CUresult state_starting(void);
CUresult state_started(CUresult rc);

/* Nothing is capped in this process: CUQUOTA_DISABLE, an error under CUQUOTA_ON_ERROR=allow, or a
 * second copy of us. */
bool state_aside(void);
/* CUDA_ERROR_NOT_PERMITTED when settings or ledger were refused; for whatever makes a context or
 * memory. */
CUresult state_permits(void);

/* The device of the current context; NULL without one, and when aside. Fast; asks the real
 * driver. */
const struct device *device_current(void);
/* The device with that ordinal; NULL when there is none, and when aside or not started. */
const struct device *device_at(CUdevice ordinal);
/* Also a divided GPU; the next one never. */
const struct device *device_named(const struct uuid *uuid);
/* The n-th that CUDA shows, from 0; NULL beyond the last. */
const struct device *device_next(unsigned n);

/* A limit holds for this tenant, or somebody has a request: what is not charged yet is to be
 * refused. */
bool device_limited(const struct device *device);

/*
 * What cuMemGetInfo, cuDeviceTotalMem and NVML show; bytes. `real_free` is the driver's answer,
 * UINT64_MAX where it was not asked. Forgets the dead when the last sweep is over 50 ms old.
 */
struct shown {
	uint64_t total, used, free;
};
void device_shown(const struct device *device, uint64_t real_free, struct shown *shown);
/* Only the total: min(limit, physical). Cheap, sums nothing. */
uint64_t device_total(const struct device *device);

/* The same in a process that has not joined (NVML alone). */
struct unjoined {
	struct uuid uuid;
	bool divided;		      /* a GPU, into instances */
	uint64_t physical, real_free; /* the real answers */
};
/* `parent`: the GPU of an instance; NULL otherwise. False: nothing is capped or the ledger cannot
 * be read; show the real figures. */
bool shown_unjoined(const struct unjoined *device, const struct unjoined *parent,
		    struct shown *shown);

#endif
