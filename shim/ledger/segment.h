/*
 * The mapped file of one device. Owns: creating, checking and mapping <dir>/<UUID>.ledger, and the
 * bounds of everything read from it. Promise: nobody ever sees half a ledger; a file that is not
 * understood is refused with a reason and left alone. Never blocks, never takes a lock; a door to
 * mmap (with life.c).
 */
#ifndef CUQUOTA_SEGMENT_H
#define CUQUOTA_SEGMENT_H

#include <cuquota/ledger.h>
#include <stdbool.h>
#include <stddef.h>

#define SEGMENT_PATH 512 /* bytes of "<dir>/<UUID>", longer folders are refused */
#define SEGMENT_WHY 768	 /* bytes of a reason, one line without its end */

enum segment_access {
	SEGMENT_MEMBER, /* read and write; creates folder and file where they are missing */
	SEGMENT_READER, /* read only; changes nothing, -ENOENT where there is no file */
};

struct segment {
	struct cuquota_header *header; /* NULL while closed */
	size_t bytes;		       /* of the mapping; every access lies below */
	uint64_t device, inode;	       /* of the file that is mapped */
	/* Copies taken and checked once, so that a scribbled header cannot move an access out of
	 * the mapping. */
	uint32_t member_count, member_stride, tenant_count, tenant_stride, detail_stride;
	uint64_t member_offset, tenant_offset, detail_offset;
	uint64_t map_words; /* behind each tenant's record; 0 without CUQUOTA_MAPS */
	bool writable;
	char path[SEGMENT_PATH]; /* "<dir>/<UUID>", without ".ledger" */
};

/*
 * Open the ledger of device `uuid` ("GPU-…", as the driver writes it) of `device_bytes` physical
 * bytes in folder `dir`. 0, or -errno with the path, the reason and the way out in `why`. -EPROTO:
 * not understood; -EMEDIUMTYPE: unsuitable file system. Where a member's driver says other than the
 * file, the lesser holds while anybody is there, so that nothing is promised that the device has
 * not; else the member's.
 */
int segment_open(struct segment *segment, const char *dir, const char *uuid, uint64_t device_bytes,
		 enum segment_access access, char why[SEGMENT_WHY]);
void segment_close(struct segment *segment);

/* Does the path still name the file that is mapped? False after rm, logind's clean-up or a
 * replacement. */
bool segment_is_linked(const struct segment *segment);

/* Are the times in the file of this boot of the kernel? */
bool segment_is_of_this_boot(const struct segment *segment);
/* They are now. Under the settle byte, after the old ones were cleared. */
void segment_note_boot(const struct segment *segment);

/* CLOCK_MONOTONIC in ns: the clock of every time in the ledger. */
uint64_t segment_now_ns(void);
/* The same, late by a tick, which is 10 ms at most; for a third of the time. */
uint64_t segment_coarse_ns(void);

static inline uint32_t segment_high(const struct segment *segment)
{
	uint32_t high = __atomic_load_n(&segment->header->members_high, __ATOMIC_SEQ_CST);

	return high < segment->member_count ? high : segment->member_count;
}

static inline uint32_t segment_tenants_high(const struct segment *segment)
{
	uint32_t high = __atomic_load_n(&segment->header->tenants_high, __ATOMIC_SEQ_CST);

	return high < segment->tenant_count ? high : segment->tenant_count;
}

/* `index` lies below member_count or tenant_count; one read from the file is checked with
 * segment_has_tenant first. */
static inline struct cuquota_slot *segment_slot(const struct segment *segment, uint32_t index)
{
	return (struct cuquota_slot *)((char *)segment->header + segment->member_offset +
				       (uint64_t)index * segment->member_stride);
}

static inline struct cuquota_detail *segment_detail(const struct segment *segment, uint32_t index)
{
	return (struct cuquota_detail *)((char *)segment->header + segment->detail_offset +
					 (uint64_t)index * segment->detail_stride);
}

static inline struct cuquota_tenant *segment_tenant(const struct segment *segment, uint32_t index)
{
	return (struct cuquota_tenant *)((char *)segment->header + segment->tenant_offset +
					 (uint64_t)index * segment->tenant_stride);
}

static inline bool segment_has_tenant(const struct segment *segment, uint32_t index)
{
	return index < segment->tenant_count;
}

static inline uint64_t *segment_map(const struct segment *segment, uint32_t tenant)
{
	return (uint64_t *)(segment_tenant(segment, tenant) + 1);
}

#define SEGMENT_ALL UINT32_MAX /* every tenant */

/*
 * A walk over the slots that may be members' of a tenant, or all that were ever used; the slot
 * itself says whether it is. The maps are loaded sequentially consistent, as announcements are: a
 * slot that this misses announces later, and then sees what the caller announced before.
 *
 *	for (struct segment_walk walk = segment_walk(segment, tenant); segment_step(&walk);)
 */
struct segment_walk {
	const uint64_t *map; /* NULL: look at all */
	uint64_t bits;	     /* of the 64 slots before `next`, those that are still to come */
	char *first;	     /* slot of those 64 */
	uint32_t next, high, stride;
	uint32_t index; /* of the slot at hand */
	struct cuquota_slot *slot;
};

static inline struct segment_walk segment_walk(const struct segment *segment, uint32_t tenant)
{
	return (struct segment_walk){
		.map = tenant != SEGMENT_ALL && segment->map_words ? segment_map(segment, tenant)
								   : NULL,
		.first = (char *)segment_slot(segment, 0),
		.stride = segment->member_stride,
		.high = segment_high(segment),
	};
}

/* On to the next 64 slots with something to look at; false at the end. */
static inline bool segment_step_far(struct segment_walk *walk)
{
	do {
		const uint32_t left = walk->high - walk->next;

		if (walk->next >= walk->high)
			return false;
		walk->bits =
			walk->map ? __atomic_load_n(&walk->map[walk->next / 64], __ATOMIC_SEQ_CST)
				  : ~0ull;
		if (left < 64)
			walk->bits &= (1ull << left) - 1;
		walk->first += walk->next ? 64ull * walk->stride : 0;
		walk->next += 64;
	} while (!walk->bits);
	return true;
}

/* The first of those that are still to come. */
static inline void segment_step_near(struct segment_walk *walk)
{
	const uint32_t bit = (uint32_t)__builtin_ctzll(walk->bits);

	walk->bits &= walk->bits - 1;
	walk->index = walk->next - 64 + bit;
	walk->slot = (struct cuquota_slot *)(walk->first + (uint64_t)bit * walk->stride);
}

static inline bool segment_step(struct segment_walk *walk)
{
	if (!walk->bits && !segment_step_far(walk))
		return false;
	segment_step_near(walk);
	return true;
}

/* On to the next member of `tenant`, which may be SEGMENT_ALL. */
static inline bool segment_step_member(struct segment_walk *walk, uint32_t tenant)
{
	while (segment_step(walk))
		if (__atomic_load_n(&walk->slot->state, __ATOMIC_SEQ_CST) == CUQUOTA_USED &&
		    (tenant == SEGMENT_ALL ||
		     __atomic_load_n(&walk->slot->tenant, __ATOMIC_RELAXED) == tenant))
			return true;
	return false;
}

#endif
