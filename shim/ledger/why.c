/*
 * Why a ledger cannot be had, in words. See why.h.
 */
#include "ledger/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int why_path(char why[SEGMENT_WHY], const char *what, const char *path, const char *ending, int rc,
	     const char *instead)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): constants */
	const char *const error = strerror(-rc);

	snprintf(why, SEGMENT_WHY, "cannot %s %s%s: %s; %sset CUQUOTA_DIR to another folder", what,
		 path, ending, error, instead);
	return rc;
}

void why_join(const struct segment *segment, const struct tenant_wish *wish,
	      const struct tenant_outcome *outcome, int rc, char why[SEGMENT_WHY])
{
	switch (rc) {
	case -ENOSPC:
		snprintf(why, SEGMENT_WHY,
			 "the request of tenant %.64s, %llu MiB, does not fit: others are promised "
			 "%llu of %llu MiB on %s; lower CUQUOTA_MEMORY_REQUEST",
			 wish->name, (unsigned long long)wish->request >> 20,
			 (unsigned long long)outcome->promised >> 20,
			 (unsigned long long)segment->header->device_bytes >> 20,
			 segment->header->uuid);
		break;
	case -ENFILE:
		snprintf(why, SEGMENT_WHY,
			 "%s.ledger is full: it has %u members and %u tenants at most; end some, "
			 "or set CUQUOTA_DIR to another folder",
			 segment->path, segment->member_count, segment->tenant_count);
		break;
	case -EBUSY:
		snprintf(why, SEGMENT_WHY,
			 "another process has been changing the rules of %s.ledger for over 2 s; "
			 "is it stopped? See the owner of the lock on its .settle file in "
			 "/proc/locks",
			 segment->path);
		break;
	case -ESTALE:
		snprintf(why, SEGMENT_WHY,
			 "the rules of tenant %.64s on %s changed each time that this process "
			 "joined it; start it again, and if that stays so find out who else writes "
			 "to %s.ledger",
			 wish->name, segment->header->uuid, segment->path);
		break;
	case -ENAMETOOLONG:
		snprintf(why, SEGMENT_WHY,
			 "the tenant's name is empty or longer than %d bytes: %.64s; "
			 "set CUQUOTA_TENANT",
			 CUQUOTA_NAME - 1, wish->name);
		break;
	default:
		snprintf(why, SEGMENT_WHY,
			 "cannot join %s.ledger: %s; its files .life.* and .settle must be plain "
			 "files that this user may write, or set CUQUOTA_DIR to another folder",
			 segment->path,
			 /* NOLINTNEXTLINE(concurrency-mt-unsafe): constants */
			 strerror(-rc));
	}
}
