/*
 * For tests of NVML's lists of processes: every form of a list read as nvidia-smi reads it, first
 * the size and then the rows, into rows of one layout; and what each form must hold to.
 */
#ifndef TESTS_NVML_LISTS_H
#define TESTS_NVML_LISTS_H

#include "client.h"

#define LIST_ROOM 64
#define CANARY 0xa5

enum list_form {
	LIST_V1,
	LIST_V2,
	LIST_V3,
	LIST_DETAIL,
	LIST_DETAIL_ALL,
	LIST_FORMS,
};

struct listed {
	unsigned count;
	nvmlProcessDetail_v1_t row[LIST_ROOM];
};

static const size_t list_size[] = {16, 24, 24, 32, 32};

/* One call with room for *count rows at `rows`. */
TEST_USED static nvmlReturn_t list_call(enum list_form form, nvmlDevice_t device, unsigned *count,
					void *rows)
{
	nvmlProcessDetailList_t list = {
		.version = nvmlProcessDetailList_v1,
		.mode = form == LIST_DETAIL ? NVML_PROCESS_MODE_COMPUTE : NVML_PROCESS_MODE_ALL,
		.numProcArrayEntries = *count,
		.procArray = rows,
	};
	nvmlReturn_t rc;

	switch (form) {
	case LIST_V1:
		return ML(nvmlDeviceGetComputeRunningProcesses)(device, count, rows);
	case LIST_V2:
		return ML(nvmlDeviceGetComputeRunningProcesses_v2)(device, count, rows);
	case LIST_V3:
		return ML(nvmlDeviceGetComputeRunningProcesses_v3)(device, count, rows);
	default:
		rc = ML(nvmlDeviceGetRunningProcessDetailList)(device, &list);
		*count = list.numProcArrayEntries;
		return rc;
	}
}

TEST_USED static bool is_canary(const unsigned char *at, size_t bytes)
{
	while (bytes && *at == CANARY)
		at++, bytes--;
	return !bytes;
}

/* The size, then with one row too few, then exactly: nothing is written beyond what was asked
 * for. */
TEST_USED static void list_read(enum list_form form, nvmlDevice_t device, struct listed *listed)
{
	unsigned char raw[(LIST_ROOM + 2) * sizeof(nvmlProcessDetail_v1_t)];
	const size_t size = list_size[form];
	unsigned needed = 0, count;
	nvmlReturn_t rc = list_call(form, device, &needed, NULL);

	CHECK_EQ(rc, needed ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
	CHECK_LE(needed, (unsigned)LIST_ROOM);
	memset(raw, CANARY, sizeof(raw));
	if (needed > 1) {
		count = needed - 1;
		CHECK_EQ(list_call(form, device, &count, raw), NVML_ERROR_INSUFFICIENT_SIZE);
		CHECK_EQ(count, needed);
		CHECK(is_canary(raw + (needed - 1) * size, sizeof(raw) - (needed - 1) * size));
	}
	count = needed;
	rc = list_call(form, device, &count, raw);
	CHECK_EQ(rc, NVML_SUCCESS);
	CHECK_EQ(count, needed);
	CHECK(is_canary(raw + needed * size, sizeof(raw) - needed * size));
	memset(listed, 0, sizeof(*listed));
	listed->count = count;
	for (unsigned i = 0; i < count; i++)
		memcpy(&listed->row[i], raw + i * size, size);
	if (count) {
		count = needed + 1; /* room to spare */
		CHECK_EQ(list_call(form, device, &count, raw), NVML_SUCCESS);
		CHECK_EQ(count, needed);
	}
}

/* Bytes that a process is listed with; UINT64_MAX where it is not. */
TEST_USED static uint64_t listed_bytes(const struct listed *listed, unsigned pid)
{
	for (unsigned i = 0; i < listed->count; i++)
		if (listed->row[i].pid == pid)
			return listed->row[i].usedGpuMemory;
	return UINT64_MAX;
}

#endif
