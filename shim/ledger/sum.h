/*
 * Sums over the slots, and the admission rule. Owns: what is added up and how it is judged.
 * Promise: a sum errs upwards only (pending is loaded before word), so a grant is never wrong.
 * Reads the ledger, writes nothing there, never waits.
 */
#ifndef CUQUOTA_SUM_H
#define CUQUOTA_SUM_H

#include "ledger/bound.h"

enum verdict {
	VERDICT_GRANT,
	VERDICT_RACE,	   /* only announcements of others stand in the way */
	VERDICT_LIMIT,	   /* refused by the tenant's limit */
	VERDICT_GUARANTEE, /* refused by what is promised to others */
};

/* Units unless a name says bytes. */
struct sum {
	uint64_t limit, request; /* bytes, of the tenant */
	uint64_t device_bytes;
	bool requests;	  /* some tenant has a request, so the others count too */
	uint32_t members; /* of the tenant */
	uint64_t used;	  /* of the tenant: charged and credit */
	uint64_t charged; /* of it; 0 in what an admission needs */
	uint64_t pending; /* of the tenant's other slots */
	/* sum over the other tenants of max(use, request), without announcements, and with; of a
	 * bound both are with */
	uint64_t others_bytes, others_pending_bytes;
	/* lowest other slot with an announcement; UINT32_MAX none */
	uint32_t lowest_same, lowest_any;
	/* set by sum_judge: which rule fails if announcements count */
	enum verdict cause_with_pending;
};

/* Add up for `tenant`, seen from `self` (a slot whose own announcement does not count; UINT32_MAX
 * none). What is found of other tenants is noted in `bound`, which may be NULL. */
void sum_take(const struct segment *segment, uint32_t tenant, uint32_t self, struct bound *bound,
	      struct sum *sum);
/* May `units` be added? On VERDICT_RACE `lowest` is the lowest slot whose announcement is in the
 * way. */
enum verdict sum_judge(struct sum *sum, uint32_t units, uint32_t *lowest);
/*
 * Both, for one who has announced `units`. Where the bound of what other tenants have is enough to
 * grant, and does not make the mark another, their slots are not looked at.
 */
enum verdict sum_admit(const struct segment *segment, uint32_t tenant, uint32_t self,
		       struct bound *bound, uint32_t units, struct sum *sum, uint32_t *lowest);

static inline uint64_t sum_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bytes that the rules leave for a tenant that uses `used` units. The command shows it too. */
static inline uint64_t sum_room_beside(const struct sum *sum, uint64_t used, uint64_t others_bytes)
{
	uint64_t bytes = used * CUQUOTA_UNIT;
	uint64_t room = sum->limit > bytes ? sum->limit - bytes : 0;
	uint64_t most;

	if (!sum->requests)
		return sum->limit == CUQUOTA_NONE ? CUQUOTA_NONE : room;
	most = sum->device_bytes > others_bytes ? sum->device_bytes - others_bytes : 0;
	most = sum_larger(most, sum->request);
	most = most > bytes ? most - bytes : 0;
	return room < most ? room : most;
}

/* Bytes that the rules would grant now, announcements left aside. */
static inline uint64_t sum_room(const struct sum *sum)
{
	return sum_room_beside(sum, sum->used, sum->others_bytes);
}

#define SUM_MARK (33554432u / CUQUOTA_UNIT)

/*
 * The credit worth keeping where `room` bytes are left before `granted` units. An eighth of what is
 * left then for each member of the tenant, 32 MiB at most: idle credit must not starve the others.
 */
static inline uint32_t sum_mark(const struct sum *sum, uint64_t room, uint32_t granted)
{
	uint64_t units = room / CUQUOTA_UNIT;
	uint64_t left = units > granted ? units - granted : 0;
	uint32_t shares = 8 * (sum->members ? sum->members : 1);

	/* Mostly there is plenty, and no division is needed. */
	return left >= (uint64_t)SUM_MARK * shares ? SUM_MARK : (uint32_t)(left / shares);
}

/* What others, who hold `others` bytes, have of the request of a tenant that holds `held`. */
static inline uint64_t sum_lent(const struct sum *sum, uint64_t held, uint64_t others)
{
	uint64_t wanted = others + sum_larger(held, sum->request);
	uint64_t lent = wanted > sum->device_bytes ? wanted - sum->device_bytes : 0;

	return lent < sum->request ? lent : sum->request;
}

#endif
