/*
 * The place of this process in the ledger of each device. Owns: the member handles, joining, and
 * joining anew when the place was lost. Promise: each charge remembers under which joining (seat)
 * it was made, so that what was charged in a lost place is neither refunded in the new one nor
 * forgotten by it.
 */
#ifndef POLICY_SEAT_H
#define POLICY_SEAT_H

#include "policy/both.h"
#include "policy/lock.h"

#include <cuquota/ledger.h>

struct seat {
	struct member member;
	uint8_t number; /* raised by each joining of a device, never 0 */
	uint8_t alone;	/* the same; 0 where the GPU above is charged too, by both.h */
	struct lock noting;
};

/* Makes the handles, or finds them wiped in a forked child. 0 or -ENOMEM. */
int seat_start(void);
/* Join the ledger of a device with a new seat. 0 or -errno with the reason; `reserved` as in
 * member_join. */
int seat_join(struct device *device, unsigned index, int reserved, char why[SEGMENT_WHY]);
bool seat_is_joined(const struct device *device);
/* Close the hold locks that a parent left to this process; its own cuInit succeeded. */
void seat_disown(const struct device *devices, unsigned count);

static inline struct member *seat_member(const struct device *device)
{
	return __atomic_load_n(&device->member, __ATOMIC_ACQUIRE);
}

static inline struct seat *seat_around(const struct member *member)
{
	return (struct seat *)((uintptr_t)member - __builtin_offsetof(struct seat, member));
}

static inline uint8_t seat_of(const struct member *member)
{
	return seat_around(member)->number;
}

static inline uint8_t seat_alone(const struct member *member)
{
	return seat_around(member)->alone;
}

static inline uint8_t seat_now(const struct device *device)
{
	return seat_of(seat_member(device));
}

static inline uint32_t seat_units(uint64_t bytes)
{
	const uint64_t units = bytes / CUQUOTA_UNIT + (bytes % CUQUOTA_UNIT != 0);

	/* More than any device has, and still far from where sums of it would turn over. */
	return units < UINT32_MAX / 4 ? (uint32_t)units : UINT32_MAX / 4;
}

/* What is shown of this process, to it and to others: so much more, or less. */
static inline void seat_note(struct member *member, uint32_t units)
{
	lock_add(&seat_around(member)->noting, &member_slot(member)->held_units, units);
}

/* A token that was charged under `seat` is needed: nothing if that was lost since. Or what is held
 * becomes a token again. */
static inline void seat_hold(const struct device *device, uint8_t seat, uint32_t units)
{
	struct member *const member = seat_member(device);

	if (__builtin_expect(seat_alone(member) == seat, 1))
		seat_note(member, units);
	else
		both_hold(device, seat, units);
}
static inline void seat_unhold(const struct device *device, uint8_t seat, uint32_t units)
{
	seat_hold(device, seat, -units);
}

/*
 * Charge, looking first (at most once a second, and only when credit is short) whether the place is
 * still ours. A token is charged for a moment, until it is known whether it is needed: others are
 * shown it when it is held.
 */
int seat_charge_short(const struct device *device, uint32_t units, uint8_t *seat,
		      struct refusal *refusal);
static inline int seat_charge_token(const struct device *device, uint32_t units, uint8_t *seat,
				    struct refusal *refusal)
{
	struct member *const member = seat_member(device);

	*seat = seat_alone(member);
	if (__builtin_expect(*seat && account_charge_credit(member, units), 1))
		return 0;
	return seat_charge_short(device, units, seat, refusal);
}
static inline int seat_charge(const struct device *device, uint32_t units, uint8_t *seat,
			      struct refusal *refusal)
{
	const int rc = seat_charge_token(device, units, seat, refusal);

	if (__builtin_expect(rc, 0))
		return rc;
	seat_hold(device, *seat, units);
	return 0;
}
/* Refund what was charged under `seat`; nothing if that was lost since, or the slot is another's by
 * now. */
static inline void seat_refund_token(const struct device *device, uint8_t seat, uint32_t units)
{
	struct member *const member = seat_member(device);

	if (!units)
		return;
	if (__builtin_expect(seat_alone(member) != seat, 0))
		both_refund(device, seat, units, 0);
	else if (member_owns(member))
		account_refund(member, units);
}
static inline void seat_refund(const struct device *device, uint8_t seat, uint32_t units)
{
	struct member *const member = seat_member(device);

	if (!units)
		return;
	if (__builtin_expect(seat_alone(member) != seat, 0)) {
		both_refund(device, seat, units, units);
	} else if (member_owns(member)) {
		seat_note(member, -units);
		account_refund(member, units);
	}
}
/* Charge in the present seat whatever the limit; returns its number. */
uint8_t seat_force(const struct device *device, uint32_t units);
/*
 * The same two for a claim that is charged under `seat` already. Where that place was lost since,
 * the claim charges itself anew as a whole when it closes: nothing more is charged now.
 */
int seat_charge_more(const struct device *device, uint8_t seat, uint32_t units);
void seat_force_more(const struct device *device, uint8_t seat, uint32_t units);
/* Would a charge be granted out of credit, or is there room for it without looking for the dead? A
 * hint. */
bool seat_has_room(const struct device *device, uint32_t units);
/* Units that a charge would get, by the GPU above too. A hint. */
uint32_t seat_room(const struct device *device);
/* Is what the tenant has charged within its limit? Not where the limit was lowered, or something
 * was charged by force. */
bool seat_within_limit(const struct device *device);

void seat_count_family(const struct device *device, unsigned family, uint32_t units);
/* Per-family figures of the detail; only shown. Linear memory's is what the others leave of the
 * charge, so that the commonest calls need not write it. */
static inline void seat_count(const struct device *device, unsigned family, int64_t units)
{
	if (__builtin_expect(family != CUQUOTA_LINEAR, 0))
		seat_count_family(device, family, (uint32_t)units);
}

/* Bring what this process holds in a lost place into the new one; by seat.c, of the modules that
 * hold something. */
void context_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units));
void vmm_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units));
void pool_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units));

#endif
