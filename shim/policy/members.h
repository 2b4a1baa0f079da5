/*
 * The members of this process's tenant on one device, as lists of processes show them. Owns: who is
 * listed, under which PID and with how much. Promise: nobody of another tenant; what the dead held
 * is left out as it is in the figures of memory; keeps errno. Takes system calls: not for hot
 * paths.
 *
 *	members_begin(&members, &uuid);
 *	while (members_next(&members, &one))
 *		...
 *	members_end(&members);
 */
#ifndef POLICY_MEMBERS_H
#define POLICY_MEMBERS_H

#include "policy/view.h"

#include "ledger/life.h"

struct members {
	struct view view;
	struct segment_walk walk;
	struct life_file file;
	uint64_t pid_namespace; /* of this process */
};

/* Who holds memory and has a PID in this process's namespace. */
struct member_shown {
	unsigned pid;
	bool running;	/* else a ghost: its children keep the memory */
	uint64_t bytes; /* what is charged to it */
	uint64_t peak;	/* the most that was */
	uint64_t age_ns;
};

void members_begin(struct members *members, const struct uuid *uuid);
bool members_next(struct members *members, struct member_shown *shown);
void members_end(struct members *members);

#endif
