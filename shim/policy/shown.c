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
	for (; device; device = device->parent)
		if (limit_of(device) != CUQUOTA_NONE ||
		    __atomic_load_n(&seat_member(device)->segment->header->requests,
				    __ATOMIC_ACQUIRE))
			return true;
	return false;
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
	uint64_t total = UINT64_MAX;

	for (; device; device = device->parent)
		total = least(total, least(limit_of(device), device->bytes));
	return total;
}

static void show(const struct account_use *use, uint64_t physical, uint64_t real_free,
		 struct shown *shown)
{
	shown->total = least(use->limit, physical);
	shown->used = least(use->charged, shown->total);
	shown->free = least(shown->total - shown->used, least(use->free, real_free));
}

/* An instance has no more than what is left of its GPU, of which others of the tenant may hold
 * some. */
static void show_within(const struct shown *gpu, struct shown *shown)
{
	shown->total = least(shown->total, gpu->total);
	shown->used = least(shown->used, shown->total);
	shown->free = least(least(shown->free, shown->total - shown->used), gpu->free);
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
static inline __attribute__((always_inline)) bool use_of(struct member *member,
							 struct account_use *use)
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

static inline __attribute__((always_inline)) void
show_joined(const struct device *device, uint64_t real_free, struct shown *shown)
{
	struct member *const member = seat_member(device);
	struct account_use use;

	if (__builtin_expect(!glance_swept(member->segment), 0))
		view_forget_dead(member->segment);
	if (use_of(member, &use))
		show(&use, device->bytes, real_free, shown);
	else
		*shown = (struct shown){.total = device_total(device)};
}

static __attribute__((noinline)) void bound_by_parent(const struct device *parent,
						      struct shown *shown)
{
	struct shown gpu;

	/* Else its instances bound themselves, and the dead of one are nothing to another. */
	if (!device_limited(parent))
		return;
	show_joined(parent, UINT64_MAX, &gpu);
	show_within(&gpu, shown);
}

void device_shown(const struct device *device, uint64_t real_free, struct shown *shown)
{
	small_look_behind();
	show_joined(device, real_free, shown);
	if (__builtin_expect(device->parent != NULL, 0))
		bound_by_parent(device->parent, shown);
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

/* What the settings of this process say. False: that cannot hold, or is not known. */
static bool limit_set(const struct unjoined *device, uint64_t physical, uint64_t *limit)
{
	const struct settings *const settings = settings_get();
	unsigned place;

	if (visible_place(&device->uuid, &place))
		return false;
	return !(device->divided ? settings_limit_divided : settings_limit)(settings, &device->uuid,
									    place, physical, limit);
}

static bool show_unjoined(const struct unjoined *device, struct shown *shown)
{
	struct account_use use = {.limit = CUQUOTA_NONE};
	uint64_t physical = device->physical, limit, bound;
	struct view view;
	bool found;

	view_open(&view, &device->uuid);
	found = read_ledger(&view, &use);
	/* NVML counts what the driver keeps for itself; members say what CUDA has. */
	if (view.opened.header)
		physical = least(physical, __atomic_load_n(&view.opened.header->device_bytes,
							   __ATOMIC_RELAXED));
	view_close(&view);
	if (!limit_set(device, physical, &limit))
		return false;
	/* A first process would set the limit; among members what it brings can only tighten. */
	bound = found && use.members ? least(use.limit, limit) : limit;
	use.limit = bound;
	/* Of its limit show() knows; the record's may be of those who are gone. */
	use.free = found ? use.beside : physical;
	show(&use, physical, device->real_free, shown);
	return found || limit != CUQUOTA_NONE;
}

bool shown_unjoined(const struct unjoined *device, const struct unjoined *parent,
		    struct shown *shown)
{
	struct shown gpu;
	bool told;

	if (view_aside())
		return false;
	told = show_unjoined(device, shown);
	if (!parent || !show_unjoined(parent, &gpu))
		return told;
	if (!told)
		*shown = (struct shown){.total = device->physical,
					.used = device->physical -
						least(device->real_free, device->physical),
					.free = device->real_free};
	show_within(&gpu, shown);
	return true;
}
