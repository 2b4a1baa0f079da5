/*
 * Why a ledger cannot be had, in words. Owns: the sentences that segment, folder and member give
 * to whoever logs them.
 * Promise: each names the file or folder, the reason and the way out. Never logs itself.
 */
#ifndef CUQUOTA_WHY_H
#define CUQUOTA_WHY_H

#include "ledger/segment.h"
#include "ledger/tenant.h"

/* What cannot be done with a path, why (`rc`, -errno), and the way out; `instead` is another one,
 * ended by "or ", or empty. Returns `rc`. */
int why_path(char why[SEGMENT_WHY], const char *what, const char *path, const char *ending, int rc,
	     const char *instead);
/* Why member_join fails with `rc`. */
void why_join(const struct segment *segment, const struct tenant_wish *wish,
	      const struct tenant_outcome *outcome, int rc, char why[SEGMENT_WHY]);

#endif
