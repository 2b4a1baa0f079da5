/*
 * See both.h. Whoever acts on the accounts of an instance and of its GPU has one turn meanwhile,
 * and leaves the second as the sum of the first kind: so a place that is lost between two calls
 * leaves no difference behind.
 */
#include "policy/both.h"
#include "policy/seat.h"
#include "policy/turn.h"
#include "base/wiped.h"

#include "ledger/glance.h"

#include <errno.h>

static void *memory;

static struct turn *turn(void)
{
	return memory;
}

int both_start(void)
{
	if (!wiped_once(&memory, sizeof(struct turn)))
		return -ENOMEM;
	turn_start(turn());
	return 0;
}

static uint32_t charged_in(const struct member *member)
{
	return CUQUOTA_CHARGED(__atomic_load_n(&member_slot(member)->word, __ATOMIC_SEQ_CST));
}

static uint32_t held_in(const struct member *member)
{
	return __atomic_load_n(&member_slot(member)->held_units, __ATOMIC_RELAXED);
}

static void settle(const struct device *gpu)
{
	struct member *const above = seat_member(gpu);
	const struct device *device;
	uint32_t charged = 0, held = 0, before;

	if (!member_owns(above))
		return;
	for (unsigned i = 0; (device = device_next(i)); i++) {
		const struct member *const member = seat_member(device);

		if (device->parent != gpu || !member_owns(member))
			continue;
		charged += charged_in(member);
		held += held_in(member);
	}
	before = charged_in(above);
	if (before < charged)
		account_force(above, charged - before);
	else if (before > charged)
		account_refund(above, before - charged);
	if (held_in(above) != held)
		seat_note(above, held - held_in(above));
}

int both_charge(const struct device *device, struct member *member, uint32_t units,
		struct refusal *refusal)
{
	const int cancel = turn_take(turn());
	int rc;

	/* The GPU's place may be a new one, with nothing charged in it yet. */
	settle(device->parent);
	rc = account_charge(member, units, refusal);
	if (!rc) {
		rc = account_charge(seat_member(device->parent), units, refusal);
		if (rc)
			account_refund(member, units);
		if (rc && refusal)
			refusal->above = true;
	}
	turn_give(turn(), cancel);
	return rc;
}

void both_force(const struct device *device, struct member *member, uint32_t units)
{
	const int cancel = turn_take(turn());

	account_force(member, units);
	seat_note(member, units);
	settle(device->parent);
	turn_give(turn(), cancel);
}

void both_hold(const struct device *device, uint8_t seat, uint32_t units)
{
	struct member *const member = seat_member(device);
	int cancel;

	if (seat_of(member) != seat)
		return;
	cancel = turn_take(turn());
	seat_note(member, units);
	settle(device->parent);
	turn_give(turn(), cancel);
}

void both_refund(const struct device *device, uint8_t seat, uint32_t units, uint32_t held)
{
	struct member *const member = seat_member(device);
	int cancel;

	if (seat_of(member) != seat || !member_owns(member))
		return;
	cancel = turn_take(turn());
	seat_note(member, -held);
	account_refund(member, units);
	settle(device->parent);
	turn_give(turn(), cancel);
}
