/*
 * What only the driver knows of each process: samples of utilisation, sessions of the encoder and
 * of frame capture. All is fetched into memory of ours, and the caller gets what belongs to members
 * of its tenant, by the PIDs of its namespace, which the driver uses too (a driver that counts
 * those of the host leaves a container without them).
 */
#include "hooks/nvml_handle.h"
#include "policy/members.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4
#define MORE 16 /* who comes between two questions */

/* One of NVML's lists: how it is asked, and how its rows are laid out. */
struct source {
	nvmlReturn_t (*get)(nvmlDevice_t device, unsigned *count, void *rows,
			    unsigned long long since);
	size_t row, pid; /* bytes; where the PID lies */
	bool may_count;	 /* asked with a count of 0 it succeeds and tells how many there are */
};

struct rows {
	char *row;
	unsigned count;
};

/* rows->count: what the first question, for the size, is asked with. */
static nvmlReturn_t fetch(const struct source *source, nvmlDevice_t device,
			  unsigned long long since, struct rows *rows)
{
	unsigned room = 0;
	nvmlReturn_t rc;

	rc = source->get(device, &rows->count, NULL, since);
	for (int i = 0; i < TRIES && (rc == NVML_ERROR_INSUFFICIENT_SIZE ||
				      (rc == NVML_SUCCESS && !room && rows->count));
	     i++) {
		char *more;

		room = rows->count + MORE;
		more = realloc(rows->row, room * source->row);
		if (!more)
			return NVML_ERROR_MEMORY;
		rows->row = more;
		rows->count = room;
		rc = source->get(device, &rows->count, rows->row, since);
	}
	return rc;
}

static unsigned pid_in(const struct source *source, const struct rows *rows, unsigned i)
{
	unsigned pid;

	memcpy(&pid, rows->row + i * source->row + source->pid, sizeof(pid));
	return pid;
}

/* Copies what belongs to a member, as far as there is room; how many there are. */
static unsigned copy_own(const struct source *source, const struct rows *rows,
			 const struct uuid *uuid, void *to, unsigned room)
{
	struct members members;
	struct member_shown one;
	unsigned n = 0;

	members_begin(&members, uuid);
	while (rows->count && members_next(&members, &one)) {
		for (unsigned i = 0; i < rows->count; i++) {
			if (pid_in(source, rows, i) != one.pid)
				continue;
			if (n < room)
				memcpy((char *)to + n * source->row, rows->row + i * source->row,
				       source->row);
			n++;
		}
	}
	members_end(&members);
	return n;
}

/* The count may be NULL, which NVML answers. */
static nvmlReturn_t list(const struct source *source, nvmlDevice_t device, unsigned *count,
			 void *to, unsigned long long since)
{
	struct rows rows = {NULL, 0};
	struct uuid uuid;
	nvmlReturn_t rc;
	unsigned room;

	if (!count)
		return source->get(device, NULL, NULL, since);
	room = to ? *count : 0;
	rows.count = to ? 0 : *count;
	rc = fetch(source, device, since, &rows);
	if (rc == NVML_ERROR_NOT_FOUND)
		*count = 0;
	if (rc == NVML_SUCCESS)
		rc = handle_uuid(device, &uuid);
	if (rc == NVML_SUCCESS) {
		*count = copy_own(source, &rows, &uuid, to, room);
		if (!*count && !source->may_count)
			rc = NVML_ERROR_NOT_FOUND;
		else if (*count > room && (room || !source->may_count))
			rc = NVML_ERROR_INSUFFICIENT_SIZE;
	}
	free(rows.row);
	return rc;
}

static nvmlReturn_t get_samples(nvmlDevice_t device, unsigned *count, void *rows,
				unsigned long long since)
{
	return real_nvml.nvmlDeviceGetProcessUtilization(device, rows, count, since);
}

static nvmlReturn_t get_infos(nvmlDevice_t device, unsigned *count, void *rows,
			      unsigned long long since)
{
	nvmlProcessesUtilizationInfo_t info = {
		.version = nvmlProcessesUtilizationInfo_v1,
		.processSamplesCount = *count,
		.lastSeenTimeStamp = since,
		.procUtilArray = rows,
	};
	const nvmlReturn_t rc = real_nvml.nvmlDeviceGetProcessesUtilizationInfo(device, &info);

	*count = info.processSamplesCount;
	return rc;
}

static nvmlReturn_t get_encoders(nvmlDevice_t device, unsigned *count, void *rows,
				 unsigned long long since)
{
	return real_nvml.nvmlDeviceGetEncoderSessions(device, count, rows);
}

static nvmlReturn_t get_captures(nvmlDevice_t device, unsigned *count, void *rows,
				 unsigned long long since)
{
	return real_nvml.nvmlDeviceGetFBCSessions(device, count, rows);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
					     nvmlProcessUtilizationSample_t *utilization,
					     unsigned int *processSamplesCount,
					     unsigned long long lastSeenTimeStamp)
{
	static const struct source source = {get_samples, sizeof(*utilization),
					     offsetof(nvmlProcessUtilizationSample_t, pid), false};

	if (view_aside())
		return real_nvml.nvmlDeviceGetProcessUtilization(
			device, utilization, processSamplesCount, lastSeenTimeStamp);
	return list(&source, device, processSamplesCount, utilization, lastSeenTimeStamp);
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
						   nvmlProcessesUtilizationInfo_t *procesesUtilInfo)
{
	static const struct source source = {get_infos, sizeof(nvmlProcessUtilizationInfo_v1_t),
					     offsetof(nvmlProcessUtilizationInfo_v1_t, pid), false};
	nvmlReturn_t rc;

	if (!procesesUtilInfo || view_aside())
		return real_nvml.nvmlDeviceGetProcessesUtilizationInfo(device, procesesUtilInfo);
	if (procesesUtilInfo->version != nvmlProcessesUtilizationInfo_v1) {
		union {
			nvmlProcessesUtilizationInfo_t info;
			char room[256]; /* for a later version's fields, which we do not know */
		} size = {.info.version = procesesUtilInfo->version};

		rc = real_nvml.nvmlDeviceGetProcessesUtilizationInfo(device, &size.info);
		return rc == NVML_SUCCESS || rc == NVML_ERROR_INSUFFICIENT_SIZE
			       ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH
			       : rc;
	}
	return list(&source, device, &procesesUtilInfo->processSamplesCount,
		    procesesUtilInfo->procUtilArray, procesesUtilInfo->lastSeenTimeStamp);
}

nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *sessionCount,
					  nvmlEncoderSessionInfo_t *sessionInfos)
{
	static const struct source source = {get_encoders, sizeof(*sessionInfos),
					     offsetof(nvmlEncoderSessionInfo_t, pid), true};

	if (view_aside())
		return real_nvml.nvmlDeviceGetEncoderSessions(device, sessionCount, sessionInfos);
	return list(&source, device, sessionCount, sessionInfos, 0);
}

nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int *sessionCount,
				      nvmlFBCSessionInfo_t *sessionInfo)
{
	static const struct source source = {get_captures, sizeof(*sessionInfo),
					     offsetof(nvmlFBCSessionInfo_t, pid), true};

	if (view_aside())
		return real_nvml.nvmlDeviceGetFBCSessions(device, sessionCount, sessionInfo);
	return list(&source, device, sessionCount, sessionInfo, 0);
}
