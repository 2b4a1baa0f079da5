/*
 * What is shown, and whether anything is limited. See state.h.
 */
#include "policy/process.h"
#include "policy/seat.h"
#include "policy/small.h"
#include "policy/view.h"
#include "policy/visible.h"

#include "base/settings.h"
#include "ledger/glance.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t limit_of(const struct device *device)
{
	const struct member *const member = seat_member(device);

	return __atomic_load_n(&segment_tenant(member->segment, member->tenant)->limit,
			       __ATOMIC_ACQUIRE);
}

bool device_limited(const struct device *device)
{
	return limit_of(device) != CUQUOTA_NONE ||
	       __atomic_load_n(&seat_member(device)->segment->header->requests, __ATOMIC_ACQUIRE);
}

bool limited(void)
{
	const enum process_mode mode = process_now();
	const struct device *device;

	if (mode != PROCESS_READY)
		return mode == PROCESS_DENIED; /* the driver may be running all the same */
	for (unsigned i = 0; (device = device_next(i)); i++)
		if (device_limited(device))
			return true;
	return false;
}

uint64_t device_total(const struct device *device)
{
	return least(limit_of(device), device->bytes);
}

static void show(const struct account_use *use, uint64_t physical, uint64_t real_free,
		 struct shown *shown)
{
	shown->total = least(use->limit, physical);
	shown->used = least(use->charged, shown->total);
	shown->free = least(shown->total - shown->used, least(use->free, real_free));
}

/* What is charged for a moment only is free for whoever looks. More than was summed may be held by
 * now. */
static void use_held(struct account_use *use, uint64_t held)
{
	if (use->beside != CUQUOTA_NONE && held > use->charged)
		use->beside -= least(use->beside, held - use->charged);
	else if (use->beside != CUQUOTA_NONE && use->beside)
		use->beside += use->charged - held;
	use->charged = held;
}

/* The device need be summed only where somebody's request may leave less than the limit; by that
 * show() goes. */
static bool use_of(struct member *member, struct account_use *use)
{
	const struct segment *const segment = member->segment;

	use->beside = CUQUOTA_NONE;
	use->limit =
		__atomic_load_n(&segment_tenant(segment, member->tenant)->limit, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&segment->header->requests, __ATOMIC_SEQ_CST) &&
	    !glance_beside(member, use->limit) && account_use_own(member, use))
		return false;
	use_held(use, glance_held(segment, member->tenant) * CUQUOTA_UNIT);
	use->free = use->beside;
	return true;
}

void device_shown(const struct device *device, uint64_t real_free, struct shown *shown)
{
	struct member *const member = seat_member(device);
	struct account_use use;

	small_look_behind();
	if (__builtin_expect(!glance_swept(member->segment), 0))
		view_forget_dead(member->segment);
	if (use_of(member, &use))
		show(&use, device->bytes, real_free, shown);
	else
		*shown = (struct shown){.total = device_total(device)};
}

/* A reader forgets nobody, so it leaves out what the dead still have in the ledger. */
static void leave_out_dead(const struct segment *segment, uint32_t tenant, struct account_use *use)
{
	struct life_file file = LIFE_FILE_CLOSED;
	struct segment_walk walk = segment_walk(segment, tenant);
	uint64_t dead = 0;

	while (segment_step_member(&walk, tenant)) {
		const uint64_t held = glance_held_in(walk.slot, tenant);

		if (life_test(segment, &file, walk.index) != LIFE_DEAD)
			continue;
		dead += held;
		if (use->members)
			use->members--;
	}
	life_close(&file);
	use_held(use, use->charged - least(dead * CUQUOTA_UNIT, use->charged));
}

static bool read_ledger(const struct view *view, struct account_use *use)
{
	if (!view->segment || account_use(view->segment, view->tenant, use))
		return false;
	use_held(use, glance_held(view->segment, view->tenant) * CUQUOTA_UNIT);
	leave_out_dead(view->segment, view->tenant, use);
	return true;
}

bool shown_unjoined(const struct uuid *uuid, uint64_t physical, uint64_t real_free,
		    struct shown *shown)
{
	struct account_use use = {.limit = CUQUOTA_NONE};
	uint64_t limit, bound;
	struct view view;
	unsigned place;
	bool found;

	if (view_aside() || visible_place(uuid, &place))
		return false;
	view_open(&view, uuid);
	found = read_ledger(&view, &use);
	/* NVML counts what the driver keeps for itself; members say what CUDA has. */
	if (view.opened.header)
		physical = least(physical, __atomic_load_n(&view.opened.header->device_bytes,
							   __ATOMIC_RELAXED));
	view_close(&view);
	if (settings_limit(settings_get(), uuid, place, physical, &limit))
		return false;
	/* A first process would set the limit; among members what it brings can only tighten. */
	bound = found && use.members ? least(use.limit, limit) : limit;
	use.limit = bound;
	/* Of its limit show() knows; the record's may be of those who are gone. */
	use.free = found ? use.beside : physical;
	show(&use, physical, real_free, shown);
	return found || limit != CUQUOTA_NONE;
}
