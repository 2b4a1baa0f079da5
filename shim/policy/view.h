/*
 * The ledger of a device and this process's tenant in it, for showing figures. Owns: finding both,
 * by the mapping of a process that joined, else by opening the file for reading. Promise: joins
 * nothing, loads no driver, makes no file; keeps errno.
 */
#ifndef POLICY_VIEW_H
#define POLICY_VIEW_H

#include "policy/state.h"

struct view {
	const struct segment *segment; /* NULL: no ledger that can be read, or the tenant is not in
					  it */
	uint32_t tenant;
	const struct member *own; /* the place of this process; NULL where it has not joined */
	struct segment opened;
	int error, cancel; /* as they were before */
};

/* Nothing is capped in this process: what the real libraries say is shown. */
bool view_aside(void);

/*
 * Always to be closed; the thread is not cancelled meanwhile. Has the dead forgotten as
 * device_shown does; of a file that is only read its caller leaves them out.
 */
void view_open(struct view *view, const struct uuid *uuid);
void view_close(struct view *view);

/* Forget the dead: of a ledger that was joined, when glance_swept says that it is due. */
void view_forget_dead(const struct segment *segment);

#endif
