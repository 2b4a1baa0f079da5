/*
 * The lists of processes: the members of the caller's tenant that hold memory, with what the ledger
 * charges to each, under the PIDs of the caller's namespace. The real call is asked first for the
 * size alone, so that NVML itself answers for its state and a bad handle; nothing that it would
 * list reaches the caller.
 *
 * A member is listed as a compute process. Graphics and MPS are lists of their own, in which the
 * ledger knows nobody.
 */
#include "hooks/nvml_handle.h"
#include "policy/members.h"

#include <stddef.h>
#include <string.h>

/* The earlier entries are the beginnings of the later ones: 16, 24 and 32 bytes. */
#define SAME(type, field)                                                                \
	_Static_assert(offsetof(type, field) == offsetof(nvmlProcessDetail_v1_t, field), \
		       #type "." #field)
SAME(nvmlProcessInfo_v1_t, pid);
SAME(nvmlProcessInfo_v1_t, usedGpuMemory);
SAME(nvmlProcessInfo_v2_t, pid);
SAME(nvmlProcessInfo_v2_t, usedGpuMemory);
SAME(nvmlProcessInfo_v2_t, gpuInstanceId);
SAME(nvmlProcessInfo_v2_t, computeInstanceId);
_Static_assert(sizeof(nvmlProcessInfo_v1_t) == 16, "v1");
_Static_assert(sizeof(nvmlProcessInfo_v2_t) == 24, "v2");
_Static_assert(sizeof(nvmlProcessDetail_v1_t) == 32, "detail");
#undef SAME

/* What all entries for a handle have in common. */
static nvmlProcessDetail_v1_t common(nvmlDevice_t device)
{
	nvmlProcessDetail_v1_t entry = {.pid = 0};

	/* Neither of a whole GPU has one. */
	if (real_nvml.nvmlDeviceGetGpuInstanceId(device, &entry.gpuInstanceId) != NVML_SUCCESS)
		entry.gpuInstanceId = UINT32_MAX;
	if (real_nvml.nvmlDeviceGetComputeInstanceId(device, &entry.computeInstanceId) !=
	    NVML_SUCCESS)
		entry.computeInstanceId = UINT32_MAX;
	return entry;
}

/* On a card that computes confidentially all its memory is protected. */
static bool is_protected(nvmlDevice_t device)
{
	nvmlMemory_t memory = {.total = 0};

	return real_nvml.nvmlDeviceGetConfComputeProtectedMemoryUsage(device, &memory) ==
		       NVML_SUCCESS &&
	       memory.total;
}

/* `size` of an entry; how many there are. */
static unsigned fill(nvmlDevice_t device, const struct uuid *uuid, void *infos, unsigned room,
		     size_t size)
{
	nvmlProcessDetail_v1_t entry = common(device);
	const bool guarded = size == sizeof(entry) && is_protected(device);
	struct members members;
	struct member_shown one;
	unsigned n = 0;

	members_begin(&members, uuid);
	for (; members_next(&members, &one); n++) {
		entry.pid = one.pid;
		entry.usedGpuMemory = one.bytes;
		entry.usedGpuCcProtectedMemory = guarded ? one.bytes : 0;
		if (n < room)
			memcpy((char *)infos + n * size, &entry, size);
	}
	members_end(&members);
	return n;
}

/* `rc` is what NVML said to the question for the size. */
static nvmlReturn_t list(nvmlReturn_t rc, bool compute, nvmlDevice_t device, unsigned *count,
			 void *infos, size_t size)
{
	const unsigned room = *count;
	struct uuid uuid;

	if (rc != NVML_SUCCESS && rc != NVML_ERROR_INSUFFICIENT_SIZE)
		return rc;
	if (room && !infos)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = handle_uuid(device, &uuid);
	if (rc != NVML_SUCCESS)
		return rc;
	*count = compute ? fill(device, &uuid, infos, room, size) : 0;
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t first(nvmlReturn_t (*get)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v1_t *),
			  bool compute, nvmlDevice_t device, unsigned *count,
			  nvmlProcessInfo_v1_t *infos)
{
	unsigned size;

	if (!count || view_aside())
		return get(device, count, infos);
	size = infos ? 0 : *count;
	return list(get(device, &size, NULL), compute, device, count, infos,
		    sizeof(*infos));
}

static nvmlReturn_t later(nvmlReturn_t (*get)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v2_t *),
			  bool compute, nvmlDevice_t device, unsigned *count,
			  nvmlProcessInfo_v2_t *infos)
{
	unsigned size;

	if (!count || view_aside())
		return get(device, count, infos);
	size = infos ? 0 : *count;
	return list(get(device, &size, NULL), compute, device, count, infos,
		    sizeof(*infos));
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
						  nvmlProcessInfo_v1_t *infos)
{
	return first(real_nvml.nvmlDeviceGetComputeRunningProcesses, true, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *infoCount,
						     nvmlProcessInfo_v2_t *infos)
{
	return later(real_nvml.nvmlDeviceGetComputeRunningProcesses_v2, true, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
						     nvmlProcessInfo_t *infos)
{
	return later(real_nvml.nvmlDeviceGetComputeRunningProcesses_v3, true, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
						   nvmlProcessInfo_v1_t *infos)
{
	return first(real_nvml.nvmlDeviceGetGraphicsRunningProcesses, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int *infoCount,
						      nvmlProcessInfo_v2_t *infos)
{
	return later(real_nvml.nvmlDeviceGetGraphicsRunningProcesses_v2, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
						      nvmlProcessInfo_t *infos)
{
	return later(real_nvml.nvmlDeviceGetGraphicsRunningProcesses_v3, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
						     nvmlProcessInfo_v1_t *infos)
{
	return first(real_nvml.nvmlDeviceGetMPSComputeRunningProcesses, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device,
							unsigned int *infoCount,
							nvmlProcessInfo_v2_t *infos)
{
	return later(real_nvml.nvmlDeviceGetMPSComputeRunningProcesses_v2, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
							unsigned int *infoCount,
							nvmlProcessInfo_t *infos)
{
	return later(real_nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3, false, device, infoCount,
		     infos);
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
						   nvmlProcessDetailList_t *plist)
{
	union {
		nvmlProcessDetailList_t list;
		char room[256]; /* for a later version's fields, which we do not know */
	} size = {.room = {0}};
	nvmlReturn_t rc;

	if (!plist || view_aside())
		return real_nvml.nvmlDeviceGetRunningProcessDetailList(device, plist);
	size.list.version = plist->version;
	if (plist->version == nvmlProcessDetailList_v1) {
		size.list.mode = plist->mode;
		size.list.numProcArrayEntries = plist->procArray ? 0 : plist->numProcArrayEntries;
	}
	rc = real_nvml.nvmlDeviceGetRunningProcessDetailList(device, &size.list);
	if (plist->version != nvmlProcessDetailList_v1)
		return rc == NVML_SUCCESS || rc == NVML_ERROR_INSUFFICIENT_SIZE
			       ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH
			       : rc;
	return list(rc,
		    plist->mode == NVML_PROCESS_MODE_COMPUTE ||
			    plist->mode == NVML_PROCESS_MODE_ALL,
		    device, &plist->numProcArrayEntries, plist->procArray,
		    sizeof(*plist->procArray));
}
