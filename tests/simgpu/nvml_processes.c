/*
 * Processes: all that have memory on the card, whoever asks.
 */
#include "nvml_sim.h"

#include <string.h>
#include <time.h>

struct process {
	unsigned int pid;
	uint64_t bytes, max;
	unsigned int instance; /* that it uses; none: NO_INSTANCE */
};

#define NO_INSTANCE 0xffffffffU

/* A process has memory on a card or on one of its instances. */
static unsigned int device_of(const struct account_slot *slot, const unsigned int index)
{
	const struct card *const card = &config_get()->card[index];
	unsigned int i;

	for (i = 0; i < card->instances; i++)
		if (__atomic_load_n(&slot->held[card->first + i], __ATOMIC_ACQUIRE))
			return card->first + i;
	return index;
}

/* The next from slot `at` on; false: there is none. */
static bool next(const unsigned int index, unsigned int *at, struct process *process)
{
	const struct account *const account = nvml_account();

	for (; account && *at < account->file->slots && *at < ACCOUNT_SLOTS; ++*at) {
		const struct account_slot *const slot = &account->file->slot[*at];
		const unsigned int device = device_of(slot, index);
		const uint32_t held = __atomic_load_n(&slot->held[device], __ATOMIC_ACQUIRE);
		const uint32_t max = __atomic_load_n(&slot->held_max[device], __ATOMIC_ACQUIRE);
		const unsigned int instance = config_get()->card[device].gpu_instance;

		if (!__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) || !held)
			continue;
		process->pid = slot->outer_pid ? slot->outer_pid : slot->pid;
		process->instance = instance ? instance : NO_INSTANCE;
		process->bytes = (uint64_t)held * ACCOUNT_UNIT;
		process->max = (uint64_t)(max > held ? max : held) * ACCOUNT_UNIT;
		++*at;
		return true;
	}
	return false;
}

/* The layouts of an entry are each other's beginnings. */
static nvmlReturn_t processes(nvmlDevice_t device, unsigned int *count, void *infos,
			      const size_t size)
{
	unsigned int index, room, at = 0, n = 0;
	struct process process;

	if (!nvml_device(device, &index) || !count || (*count && !infos))
		return NVML_ERROR_INVALID_ARGUMENT;
	room = *count;
	for (; next(index, &at, &process); n++) {
		const nvmlProcessDetail_v1_t info = { .pid = process.pid,
						      .usedGpuMemory = process.bytes,
						      .gpuInstanceId = process.instance,
						      .computeInstanceId =
							      process.instance == NO_INSTANCE ?
								      NO_INSTANCE : 0 };

		if (n < room)
			memcpy((char *)infos + n * size, &info, size);
	}
	*count = n;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetComputeRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v2_t));
}

NVAPI(nvmlDeviceGetComputeRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v2_t));
}

NVAPI(nvmlDeviceGetComputeRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return processes(device, infoCount, infos, sizeof(nvmlProcessInfo_v1_t));
}

static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count, const void *infos)
{
	if (!nvml_device(device, NULL) || !count || (*count && !infos))
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetGraphicsRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses_v3,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses_v2,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetMPSComputeRunningProcesses,
      (nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),
      (device, infoCount, infos))
{
	return no_processes(device, infoCount, infos);
}

NVAPI(nvmlDeviceGetRunningProcessDetailList,
      (nvmlDevice_t device, nvmlProcessDetailList_t *plist), (device, plist))
{
	if (!plist)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (plist->version != nvmlProcessDetailList_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (plist->mode == NVML_PROCESS_MODE_COMPUTE || plist->mode == NVML_PROCESS_MODE_ALL)
		return processes(device, &plist->numProcArrayEntries, plist->procArray,
				 sizeof(*plist->procArray));
	return plist->mode < NVML_PROCESS_MODE_MAX ?
		       no_processes(device, &plist->numProcArrayEntries, plist->procArray) :
		       NVML_ERROR_INVALID_ARGUMENT;
}

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* Percent of the card. */
static unsigned int share(const unsigned int index, const struct process *process)
{
	return (unsigned int)(process->bytes * 100 / config_get()->card[index].bytes);
}

/* One sample for each process, of this moment, in either layout. */
static nvmlReturn_t sample(const unsigned int index, const unsigned long long since,
			   unsigned int *count, nvmlProcessUtilizationSample_t *samples,
			   nvmlProcessUtilizationInfo_v1_t *infos)
{
	const unsigned int room = samples || infos ? *count : 0;
	const unsigned long long now = now_us();
	unsigned int at = 0, n = 0;
	struct process process;

	for (; now > since && next(index, &at, &process); n++) {
		const nvmlProcessUtilizationInfo_v1_t info = { .timeStamp = now,
							       .pid = process.pid,
							       .smUtil = 1,
							       .memUtil = share(index, &process) };

		if (n < room && infos)
			infos[n] = info;
		else if (n < room)
			samples[n] = (nvmlProcessUtilizationSample_t){ .pid = info.pid,
								       .timeStamp = now,
								       .smUtil = info.smUtil,
								       .memUtil = info.memUtil };
	}
	*count = n;
	return !n ? NVML_ERROR_NOT_FOUND : n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetProcessUtilization,
      (nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
       unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp),
      (device, utilization, processSamplesCount, lastSeenTimeStamp))
{
	unsigned int index;

	if (!nvml_card(device, &index) || !processSamplesCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	return sample(index, lastSeenTimeStamp, processSamplesCount, utilization, NULL);
}

NVAPI(nvmlDeviceGetProcessesUtilizationInfo,
      (nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *procesesUtilInfo),
      (device, procesesUtilInfo))
{
	unsigned int index;

	if (!nvml_card(device, &index) || !procesesUtilInfo)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (procesesUtilInfo->version != nvmlProcessesUtilizationInfo_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return sample(index, procesesUtilInfo->lastSeenTimeStamp,
		      &procesesUtilInfo->processSamplesCount, NULL,
		      procesesUtilInfo->procUtilArray);
}

/* One for each process, if there are any; to ask with a count of 0 is no error. */
static nvmlReturn_t sessions(nvmlDevice_t device, unsigned int *count, void *infos,
			     const size_t size)
{
	unsigned int index, room, at = 0, n = 0;
	struct process process;

	if (!nvml_card(device, &index) || !count || (*count && !infos))
		return NVML_ERROR_INVALID_ARGUMENT;
	room = *count;
	for (; config_get()->sessions && next(index, &at, &process); n++) {
		const unsigned int begin[] = { n + 1, process.pid }; /* in all layouts */

		if (n >= room)
			continue;
		memset((char *)infos + n * size, 0, size);
		memcpy((char *)infos + n * size, begin, sizeof(begin));
	}
	*count = n;
	return room && n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetEncoderSessions,
      (nvmlDevice_t device, unsigned int *sessionCount, nvmlEncoderSessionInfo_t *sessionInfos),
      (device, sessionCount, sessionInfos))
{
	return sessions(device, sessionCount, sessionInfos, sizeof(*sessionInfos));
}

NVAPI(nvmlDeviceGetFBCSessions,
      (nvmlDevice_t device, unsigned int *sessionCount, nvmlFBCSessionInfo_t *sessionInfo),
      (device, sessionCount, sessionInfo))
{
	return sessions(device, sessionCount, sessionInfo, sizeof(*sessionInfo));
}

NVAPI(nvmlDeviceGetAccountingMode, (nvmlDevice_t device, nvmlEnableState_t *mode), (device, mode))
{
	if (!nvml_card(device, NULL) || !mode)
		return NVML_ERROR_INVALID_ARGUMENT;
	*mode = config_get()->accounting ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetAccountingBufferSize, (nvmlDevice_t device, unsigned int *bufferSize),
      (device, bufferSize))
{
	if (!nvml_card(device, NULL) || !bufferSize)
		return NVML_ERROR_INVALID_ARGUMENT;
	*bufferSize = ACCOUNT_SLOTS;
	return config_get()->accounting ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NVAPI(nvmlDeviceGetAccountingPids,
      (nvmlDevice_t device, unsigned int *count, unsigned int *pids), (device, count, pids))
{
	unsigned int index, room, at = 0, n = 0;
	struct process process;

	if (!nvml_card(device, &index) || !count || (*count && !pids))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!config_get()->accounting)
		return NVML_ERROR_NOT_SUPPORTED;
	room = *count;
	for (; next(index, &at, &process); n++)
		if (n < room)
			pids[n] = process.pid;
	*count = n;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t account_of(nvmlDevice_t device, const unsigned int pid, struct process *process)
{
	unsigned int index, at = 0;

	if (!nvml_card(device, &index))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!config_get()->accounting)
		return NVML_ERROR_NOT_SUPPORTED;
	while (next(index, &at, process))
		if (process->pid == pid)
			return NVML_SUCCESS;
	return NVML_ERROR_NOT_FOUND;
}

NVAPI(nvmlDeviceGetAccountingStats,
      (nvmlDevice_t device, unsigned int pid, nvmlAccountingStats_t *stats), (device, pid, stats))
{
	struct process process;
	const nvmlReturn_t rc = stats ? account_of(device, pid, &process) :
					NVML_ERROR_INVALID_ARGUMENT;

	if (rc == NVML_SUCCESS)
		*stats = (nvmlAccountingStats_t){ .gpuUtilization = 1,
						  .maxMemoryUsage = process.max,
						  .isRunning = 1 };
	return rc;
}

NVAPI(nvmlDeviceGetAccountingStats_v2, (nvmlDevice_t device, nvmlAccountingStats_v2_t *stats),
      (device, stats))
{
	struct process process;
	const nvmlReturn_t rc = stats ? account_of(device, stats->pid, &process) :
					NVML_ERROR_INVALID_ARGUMENT;

	if (rc == NVML_SUCCESS)
		*stats = (nvmlAccountingStats_v2_t){ .pid = process.pid,
						     .isRunning = 1,
						     .gpuUtilization = 1,
						     .maxMemoryUsage = process.max };
	return rc;
}
