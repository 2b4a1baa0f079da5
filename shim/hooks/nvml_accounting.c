/*
 * Accounting: which processes there were, and what each took. NVML is asked whether it keeps
 * accounts at all; the processes are the members of the caller's tenant, and what is said of one
 * comes from the ledger. That knows the living and ghosts, not who has ended, and nothing of time:
 * utilisation is "not available".
 */
#include "hooks/nvml_handle.h"
#include "policy/members.h"

#include <time.h>

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count,
					 unsigned int *pids)
{
	struct members members;
	struct member_shown one;
	unsigned size, room;
	struct uuid uuid;
	nvmlReturn_t rc;

	if (!count || view_aside())
		return real_nvml.nvmlDeviceGetAccountingPids(device, count, pids);
	size = pids ? 0 : *count;
	rc = real_nvml.nvmlDeviceGetAccountingPids(device, &size, NULL);
	if (rc == NVML_SUCCESS || rc == NVML_ERROR_INSUFFICIENT_SIZE)
		rc = handle_uuid(device, &uuid);
	if (rc != NVML_SUCCESS)
		return rc;
	if (*count && !pids)
		return NVML_ERROR_INVALID_ARGUMENT;
	room = *count;
	*count = 0;
	members_begin(&members, &uuid);
	for (; members_next(&members, &one); ++*count)
		if (*count < room)
			pids[*count] = one.pid;
	members_end(&members);
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* NVML that finds no such process says so too of one that it counts otherwise. */
static nvmlReturn_t find(nvmlReturn_t rc, nvmlDevice_t device, unsigned pid,
			 struct member_shown *one)
{
	struct members members;
	struct uuid uuid;

	if (rc == NVML_SUCCESS || rc == NVML_ERROR_NOT_FOUND)
		rc = handle_uuid(device, &uuid);
	if (rc != NVML_SUCCESS)
		return rc;
	rc = NVML_ERROR_NOT_FOUND;
	members_begin(&members, &uuid);
	while (rc == NVML_ERROR_NOT_FOUND && members_next(&members, one))
		if (one->pid == pid)
			rc = NVML_SUCCESS;
	members_end(&members);
	return rc;
}

static unsigned long long began_us(const struct member_shown *one)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000 -
	       one->age_ns / 1000;
}

nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
					  nvmlAccountingStats_t *stats)
{
	nvmlAccountingStats_t told;
	struct member_shown one;
	nvmlReturn_t rc;

	if (!stats || view_aside())
		return real_nvml.nvmlDeviceGetAccountingStats(device, pid, stats);
	rc = real_nvml.nvmlDeviceGetAccountingStats(device, pid, &told);
	rc = find(rc, device, pid, &one);
	if (rc == NVML_SUCCESS)
		*stats = (nvmlAccountingStats_t){
			.gpuUtilization = (unsigned)NVML_VALUE_NOT_AVAILABLE,
			.memoryUtilization = (unsigned)NVML_VALUE_NOT_AVAILABLE,
			.maxMemoryUsage = one.peak,
			.startTime = began_us(&one),
			.isRunning = one.running,
		};
	return rc;
}

nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, nvmlAccountingStats_v2_t *stats)
{
	nvmlAccountingStats_v2_t told;
	struct member_shown one;
	nvmlReturn_t rc;

	if (!stats || view_aside())
		return real_nvml.nvmlDeviceGetAccountingStats_v2(device, stats);
	told = (nvmlAccountingStats_v2_t){.pid = stats->pid};
	rc = real_nvml.nvmlDeviceGetAccountingStats_v2(device, &told);
	rc = find(rc, device, stats->pid, &one);
	if (rc == NVML_SUCCESS)
		*stats = (nvmlAccountingStats_v2_t){
			.pid = one.pid,
			.isRunning = one.running,
			.gpuUtilization = (unsigned)NVML_VALUE_NOT_AVAILABLE,
			.memoryUtilization = (unsigned)NVML_VALUE_NOT_AVAILABLE,
			.maxMemoryUsage = one.peak,
			.startTime = began_us(&one),
		};
	return rc;
}
