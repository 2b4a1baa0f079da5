/*
 * See members.h.
 */
#include "policy/members.h"

#include "base/pids.h"
#include "ledger/glance.h"
#include "ledger/member.h"

#include <unistd.h>

void members_begin(struct members *members, const struct uuid *uuid)
{
	view_open(&members->view, uuid);
	members->file = (struct life_file)LIFE_FILE_CLOSED;
	members->pid_namespace = pids_namespace();
	if (members->view.segment)
		members->walk = segment_walk(members->view.segment, members->view.tenant);
}

void members_end(struct members *members)
{
	life_close(&members->file);
	view_close(&members->view);
}

/* 0: in a namespace from which it cannot be seen. */
static int pid_of(const struct members *members, const struct cuquota_detail *detail)
{
	const struct member *const own = members->view.own;
	const int pid = __atomic_load_n(&detail->pid, __ATOMIC_RELAXED);
	const uint64_t pid_namespace = __atomic_load_n(&detail->pid_namespace, __ATOMIC_RELAXED);

	if (own && own->slot == members->walk.index)
		return getpid();
	return pid_namespace == members->pid_namespace ? pid : pids_find(pid, pid_namespace);
}

/* False: it holds nothing, is gone, or is not to be seen from here. */
static bool show(struct members *members, struct member_shown *shown)
{
	const struct segment *const segment = members->view.segment;
	const struct cuquota_slot *const slot = members->walk.slot;
	const struct cuquota_detail *const detail = segment_detail(segment, members->walk.index);
	const uint32_t gen = __atomic_load_n(&slot->gen, __ATOMIC_ACQUIRE);
	const uint64_t held = glance_held_in(slot, members->view.tenant);
	enum life life;
	int pid;

	if (!held)
		return false;
	life = life_test(segment, &members->file, members->walk.index);
	if (life == LIFE_DEAD && !members->view.own)
		return false;
	pid = pid_of(members, detail);
	*shown = (struct member_shown){
		.pid = (unsigned)pid,
		.running = life == LIFE_ALIVE,
		.bytes = held * CUQUOTA_UNIT,
		.peak = (uint64_t)__atomic_load_n(&detail->peak, __ATOMIC_RELAXED) * CUQUOTA_UNIT,
		.age_ns = segment_now_ns() - __atomic_load_n(&detail->joined_ns, __ATOMIC_RELAXED),
	};
	/* The slot may be another's by now. */
	return pid > 0 && __atomic_load_n(&slot->gen, __ATOMIC_ACQUIRE) == gen;
}

bool members_next(struct members *members, struct member_shown *shown)
{
	while (members->view.segment &&
	       segment_step_member(&members->walk, members->view.tenant))
		if (show(members, shown))
			return true;
	return false;
}
