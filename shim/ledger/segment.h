/*
 * The mapped file of one device. Owns: creating, checking and mapping <dir>/<UUID>.ledger, and the bounds of
 * everything read from it. Promise: nobody ever sees half a ledger; a file that is not understood is refused
 * with a reason and left alone. Never blocks, never takes a lock; a door to mmap (with life.c).
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
	/* Copies taken and checked once, so that a scribbled header cannot move an access out of the mapping. */
	uint32_t member_count, member_stride, tenant_count, tenant_stride, detail_stride;
	uint64_t member_offset, tenant_offset, detail_offset;
	uint64_t map_words; /* behind each tenant's record; 0 without CUQUOTA_MAPS */
	bool writable;
	char path[SEGMENT_PATH]; /* "<dir>/<UUID>", without ".ledger" */
};

/*
 * Open the ledger of device `uuid` ("GPU-…", as the driver writes it) of `device_bytes` physical bytes in folder
 * `dir`. 0, or -errno with the path, the reason and the way out in `why`. -EPROTO: not understood; -EMEDIUMTYPE:
 * unsuitable file system. A member that knows another device_bytes than the file keeps the file's.
 */
int segment_open(struct segment *segment, const char *dir, const char *uuid, uint64_t device_bytes,
		 enum segment_access access, char why[SEGMENT_WHY]);
void segment_close(struct segment *segment);

/* Does the path still name the file that is mapped? False after rm, logind's clean-up or a replacement. */
bool segment_is_linked(const struct segment *segment);

/* Are the times in the file of this boot of the kernel? */
bool segment_is_of_this_boot(const struct segment *segment);
/* They are now. Under the settle byte, after the old ones were cleared. */
void segment_note_boot(const struct segment *segment);

/* CLOCK_MONOTONIC in ns: the clock of every time in the ledger. */
uint64_t segment_now_ns(void);

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

/* `index` lies below member_count or tenant_count; one read from the file is checked with segment_has_tenant first. */
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

#define SEGMENT_END UINT32_MAX /* no slot */
#define SEGMENT_ALL UINT32_MAX /* every tenant */

/*
 * The first slot at or above `from` that may be a member's of `tenant`, or SEGMENT_END. The slot
 * itself says whether it is. Sequentially consistent, as announcements are: a slot that this misses
 * announces later, and then sees what the caller announced before.
 */
static inline uint32_t segment_next(const struct segment *segment, uint32_t tenant, uint32_t from)
{
	const uint32_t high = segment_high(segment);
	uint64_t mask = ~0ull << from % 64;
	const uint64_t *map;

	if (tenant == SEGMENT_ALL || !segment->map_words)
		return from < high ? from : SEGMENT_END;
	map = segment_map(segment, tenant);
	for (uint32_t word = from / 64; word * 64 < high; word++, mask = ~0ull) {
		const uint64_t bits = __atomic_load_n(&map[word], __ATOMIC_SEQ_CST) & mask;

		if (bits) {
			const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);

			return index < high ? index : SEGMENT_END;
		}
	}
	return SEGMENT_END;
}

#define segment_each(segment, tenant, index)                                          \
	for (uint32_t index = segment_next(segment, tenant, 0); index != SEGMENT_END; \
	     index = segment_next(segment, tenant, index + 1))

#endif
