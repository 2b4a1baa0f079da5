/*
 * What the ledgers of the test's folder hold at this moment, as they stand in the file: not bounded
 * by a limit and not taken for the shown figures, so that a counter below 0 or above the limit is
 * seen. Link build/libcuquota_reader.a.
 */
#ifndef TESTS_LEDGER_NOW_H
#define TESTS_LEDGER_NOW_H

#include "helper.h"

#include <cuquota/cuquota.h>

/* Charged bytes of the living and of ghosts, on all devices; `tenant` NULL, `pid` 0: of all.
 * Their credit in *credit. */
TEST_USED static uint64_t ledger_used_of(const char *tenant, int pid, uint64_t *credit)
{
	const struct cuquota_snapshot *now;
	struct cuquota *ledgers;
	uint64_t used = 0, idle = 0;
	int rc;

	rc = cuquota_open(NULL, &ledgers);
	if (!rc)
		rc = cuquota_snapshot(ledgers, &now);
	if (rc)
		FAIL("the ledgers cannot be read: %s", cuquota_strerror(rc));
	for (uint32_t d = 0; d < now->device_count; d++) {
		if (now->device[d].error)
			FAIL("%s: %s", now->device[d].uuid, now->device[d].why);
		for (uint32_t t = 0; t < now->device[d].tenant_count; t++) {
			const struct cuquota_tenant_info *const one = &now->device[d].tenant[t];

			if (tenant && strcmp(one->name, tenant))
				continue;
			for (uint32_t m = 0; m < one->member_count; m++) {
				if (pid && one->member[m].pid != pid)
					continue;
				used += one->member[m].used;
				idle += one->member[m].credit;
			}
		}
	}
	cuquota_close(ledgers);
	if (credit)
		*credit = idle;
	return used;
}

TEST_USED static uint64_t ledger_used(const char *tenant, uint64_t *credit)
{
	return ledger_used_of(tenant, 0, credit);
}

/* Of the members that call themselves `pid`. */
TEST_USED static uint64_t ledger_used_by(int pid)
{
	return ledger_used_of(NULL, pid, NULL);
}

#endif
