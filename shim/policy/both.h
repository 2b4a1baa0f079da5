/*
 * Charging a MIG instance, and with it the divided GPU that it lies on, whose limit bounds its
 * instances together. Owns: keeping the GPU's account equal to what the accounts of this process's
 * instances have. Promise: an instance is charged first, and refunded where the GPU refuses; what
 * was lost with a place of either is lost in both and had again in both. For seat.h, where hot
 * paths end up here for an instance, or where `seat` is that of a lost place.
 */
#ifndef POLICY_BOTH_H
#define POLICY_BOTH_H

#include "policy/state.h"

/* Makes the memory, or finds it wiped. 0 or -ENOMEM. */
int both_start(void);

/* Of an instance, whose member is as the caller found it. 0, or what account_charge says, with
 * `above` in the refusal where the GPU's account refuses. */
__attribute__((cold)) int both_charge(const struct device *device, struct member *member,
				      uint32_t units, struct refusal *refusal);
__attribute__((cold)) void both_force(const struct device *device, struct member *member,
				      uint32_t units);

/* Of any device. What was charged under `seat` is held (as in seat_hold), or refunded with what of
 * it was held; nothing if that place was lost since. */
__attribute__((cold)) void both_hold(const struct device *device, uint8_t seat, uint32_t units);
__attribute__((cold)) void both_refund(const struct device *device, uint8_t seat, uint32_t units,
				       uint32_t held);

#endif
