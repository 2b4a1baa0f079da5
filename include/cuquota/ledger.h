/*
 * The layout of a ledger: the shared-memory file of one device, <dir>/<UUID>.ledger.
 *
 * Owns: the byte layout, nothing else. Fixed-width fields only; this header needs <stdint.h> and no
 * more.
 * Promise: header, tenant record and slot keep their offsets for ever; what is added goes behind
 * them, is announced by a feature bit, and is found by the strides and offsets in the header, so
 * that two releases share one file. All fields that change are changed through __atomic builtins;
 * there are no pointers.
 *
 * The protocol
 * ------------
 * A tenant's use is the sum of (charged + credit) over its slots. There is no total and no lock, so
 * a death at any instruction leaves nothing to repair.
 *
 *   Who raises what
 *	Only a slot's owner raises the sum of its word. Anybody may lower its credit by
 *	compare-and-swap. charge moves credit to charged, refund moves it back; both leave the sum
 *	as it is, and so need to look at nobody.
 *   Growing
 *	The owner announces the rise in `pending` (sequentially consistent), then sums its tenant's
 *	slots, `pending` before `word` of each, and where anybody has a request what the others
 *	have, and commits (raises credit, then clears pending) only if the sum with every
 *	announcement holds. Of two growers at least one sees the other's announcement. A slot that
 *	commits between the two loads is counted twice, never missed: the sum errs upwards only.
 *   Rising
 *	Where anybody has a request, an announcement is added to `risen` of its tenant as well,
 *	before the sum; what is charged by force is added after it is. `risen` is never lowered. Who
 *	has summed all slots knows from then on what each tenant has at most: what it had, and what
 *	its `risen` grew by. That is enough to grant, never to refuse.
 *   Standing back
 *	If only announcements stand in the way, the higher-numbered slot takes its own back and
 *	waits for the lower one; the lowest keeps its own. Waits are bounded.
 *   Tightening
 *	Whoever lowers a limit or adds a request stores it, raises `epoch` and takes the credit of
 *	those bound. A charge reads word, then epoch, then swaps word, and goes to grow when the
 *	epoch is not that of its credit: credit granted under an older rule is never used, so nobody
 *	has to wait for a grower that summed before and commits after.
 *   Death
 *	Told by kernel file locks only (life and hold, see shim/ledger/life.h). The dead slot is
 *	zeroed by whoever holds both its locks; until then its bytes count, which errs upwards.
 */
#ifndef CUQUOTA_LEDGER_H
#define CUQUOTA_LEDGER_H

#include <stdint.h>

#define CUQUOTA_MAGIC "CUQUOTA" /* 8 bytes with its NUL */
/* raised only when an old reader would misread a frozen field, or an old member beside new ones
 * would break a promise: 2 since each has to add to `risen`, 3 since each has to keep `held` */
#define CUQUOTA_LAYOUT 3u

#define CUQUOTA_UNIT 65536u /* bytes: what word and pending count in */
/* slots of a file of this release; readers use the header's count */
#define CUQUOTA_MEMBERS 4096u
/* likewise. Tenants beyond one's own count are summed together, upwards, where requests count */
#define CUQUOTA_TENANTS 256u
#define CUQUOTA_NAME 128	/* bytes of a tenant's name, its NUL included */
#define CUQUOTA_UUID_TEXT 48	/* bytes of a device's name "GPU-…" or "MIG-…", its NUL included */
#define CUQUOTA_NONE UINT64_MAX /* a limit that is not set */

/* Kinds of allocation; indices of detail.family. Appended to, never reordered. */
enum cuquota_family {
	CUQUOTA_LINEAR,
	CUQUOTA_MANAGED,
	CUQUOTA_ARRAY,
	CUQUOTA_POOL,
	CUQUOTA_VMM,
	CUQUOTA_GRAPH,
	CUQUOTA_CONTEXT,
	CUQUOTA_MODULE,
	CUQUOTA_FAMILIES,
};

struct cuquota_header {
	/* Written once, before the file gets its name. */
	char magic[8];
	uint32_t layout;
	uint32_t header_bytes;
	uint64_t file_bytes;
	uint32_t member_count;
	uint32_t member_stride;
	uint64_t member_offset;
	uint32_t tenant_count;
	uint32_t tenant_stride;
	uint64_t tenant_offset;
	uint32_t detail_stride; /* one detail for each member */
	uint32_t unit;		/* CUQUOTA_UNIT of the maker; another value is not understood */
	uint64_t detail_offset;
	uint64_t features;	      /* CUQUOTA_MAPS; unknown bits are ignored */
	char uuid[CUQUOTA_UUID_TEXT]; /* the device */
	uint64_t device_bytes;	      /* physical memory, as the drivers say: the least */
	/* of the kernel that ran when the file was made; times below are of that boot */
	uint8_t boot_id[16];
	uint8_t reserved0[104];

	/* Read on every path, written seldom: a cache line of their own. */
	/* any tightening raises it, never lowered; whoever holds the settle byte */
	uint32_t epoch;
	uint32_t members_high; /* slots at or above it were never used; anybody raises it by CAS,
				  never lowered */
	/* not 0: some tenant has had a request, so what the others have counts; never lowered */
	uint32_t requests;
	uint32_t tenants_high; /* records at or above it were never used; raised under the settle
				  byte, never lowered */
	uint8_t reserved1[48];

	/* Written by sweeps. */
	/* CLOCK_MONOTONIC when the newest sweep began; CAS by the one who will sweep */
	uint64_t swept_ns;
	uint64_t swept_done_ns; /* begin of the newest sweep that ended; raised by CAS, never
				   lowered */
	uint64_t sweep_cost_ns; /* how long it took; plain store, a stale value only spaces sweeps
				   differently */
	uint64_t forgotten_ns;	/* when a member was last forgotten; plain store, later wins */
	uint8_t reserved2[32];

	/* What members learned about this device and driver; one atomic word each, later wins. */
	uint32_t context_units;	 /* the least cost of a context seen alone, 0 not seen */
	uint32_t context_driver; /* the driver version it was seen on */
	/* 1: the driver gives an emptied grain back, 2: it keeps it, 0: not seen */
	uint32_t small_returns;
	uint8_t reserved3[52];
};

/* One tenant. A record is made and reused under the settle byte only. */
struct cuquota_tenant {
	uint32_t state;	  /* 0 free, 1 used; published last on making, by release store */
	uint32_t flags;	  /* CUQUOTA_ADMINISTERED, CUQUOTA_SETTLING; stored under the settle byte,
			     loaded by anybody */
	uint64_t limit;	  /* bytes, CUQUOTA_NONE without; stored under the settle byte, loaded by
			     anybody */
	uint64_t request; /* bytes, 0 without; likewise */
	uint64_t keep_ns; /* how long the request outlives the last member; likewise */
	uint64_t left_ns; /* CLOCK_MONOTONIC when a member was last seen to be gone, 0 never; see
			     keep_ns */
	uint64_t risen;	  /* units announced by its members while anybody had a request, and
			     charged by force; added to by them, never lowered, kept when the record
			     is reused */
	uint8_t reserved0[16];
	char name[CUQUOTA_NAME]; /* written before state */
	uint8_t reserved1[64];
};

/*
 * With this feature each record is followed by one bit for each slot, in 64-bit words, so that
 * summing a tenant need not look at all slots. Set by a joiner before its slot is used, cleared by
 * whoever freed it, both under the slot's locks: a slot in use has its bit; a bit says nothing
 * without the slot. The record's stride has room for it.
 */
#define CUQUOTA_MAPS 1u
#define CUQUOTA_MAP_WORDS(members) (((members) + 63u) / 64u)

#define CUQUOTA_ADMINISTERED 1u /* `cuquota set` holds: what processes bring is ignored */
/* The tenant has no members and its rules are being replaced: who joined it without the settle byte
 * goes back and asks for that. Left by a death: cleared by the next who settles. */
#define CUQUOTA_SETTLING 2u

enum {
	CUQUOTA_FREE = 0,
	CUQUOTA_USED = 1,
};

/*
 * One member, in two cache lines: who decides reads the first of each, who asks for the free memory
 * the second. A request below a grain that lies in paid grains moves credit to charged and back,
 * and so writes the first line of its own slot; what its process holds stays as it was, and readers
 * of `held` keep the line.
 */
struct cuquota_slot {
	/* charged, credit (units) and tag, see CUQUOTA_WORD; owner raises, anybody takes */
	uint64_t word;
	uint32_t pending; /* units announced, not yet granted. Owner writes; a waiter sets
			     CUQUOTA_WAITED by CAS */
	uint32_t state;	  /* CUQUOTA_FREE or _USED; stored last by joiner and forgetter, under its
			     life byte */
	uint32_t gen;	  /* raised by each joiner under the life byte, never lowered */
	uint32_t tenant;  /* index of the tenant; written before state */
	uint8_t reserved0[40];

	/* Only shown, nothing depends on it. Joiner and forgetter store it whole, readers load it
	 * whole, relaxed. */
	union {
		uint64_t held; /* CUQUOTA_HELD */
		struct {
			/* units charged, but for what small requests under way may turn out not to
			 * need; the owner adds, plainly while one thread does, else atomically.
			 * Above CUQUOTA_COUNT_MAX: fell below 0, which is nothing. */
			uint32_t held_units;
			uint32_t held_of; /* tenant + 1 */
		};
	};
	uint8_t reserved1[56];
};

/* What is only shown. The owner writes, nobody guards it, nothing depends on it. */
struct cuquota_detail {
	int32_t pid;			   /* in the owner's own PID namespace */
	uint32_t peak;			   /* largest charged, units */
	uint64_t pid_namespace;		   /* inode of that namespace */
	uint64_t joined_ns;		   /* CLOCK_MONOTONIC */
	char command[16];		   /* as the kernel names the process */
	uint32_t family[CUQUOTA_FAMILIES]; /* charged by kind, units; linear is what the others
					      leave of charged */
	uint64_t refused_limit;		   /* how often, by the own limit */
	uint64_t refused_guarantee;	   /* by another's request */
	uint64_t refused_driver;	   /* by the driver, after we granted */
	/* bytes that a context or module took beyond what was granted */
	uint64_t over;
	uint8_t reserved[24];
	uint8_t reserved1[96];
};

#define CUQUOTA_WAITED 0x80000000u /* in pending: somebody waits, wake on clearing */
#define CUQUOTA_PENDING(pending) ((pending) & ~CUQUOTA_WAITED)

/*
 * Two counts of 28 bits, 16 TiB each, and a tag that whoever tightens a rule raises: a thread of
 * the owner that read the word before cannot swap it after, even where both counts are the same
 * again, because another thread brought back credit of the old rules.
 */
#define CUQUOTA_COUNT_MAX 0x0fffffffu
#define CUQUOTA_CHARGED(word) (CUQUOTA_COUNT_MAX & (uint32_t)(word))
#define CUQUOTA_CREDIT(word) ((uint32_t)((word) >> 28) & CUQUOTA_COUNT_MAX)
#define CUQUOTA_TAG(word) ((uint32_t)((word) >> 56))
#define CUQUOTA_WORD(charged, credit, tag) \
	((uint64_t)(tag) << 56 | (uint64_t)(credit) << 28 | (uint32_t)(charged))

/* So the one word says of whom it is. A slot of nobody holds nothing. */
#define CUQUOTA_HELD(tenant, units) (((uint64_t)(tenant) + 1) << 32 | (uint32_t)(units))

#define CUQUOTA_AT(type, field, offset) \
	_Static_assert(__builtin_offsetof(struct type, field) == (offset), #type "." #field)
CUQUOTA_AT(cuquota_header, magic, 0);
CUQUOTA_AT(cuquota_header, layout, 8);
CUQUOTA_AT(cuquota_header, header_bytes, 12);
CUQUOTA_AT(cuquota_header, file_bytes, 16);
CUQUOTA_AT(cuquota_header, member_count, 24);
CUQUOTA_AT(cuquota_header, member_stride, 28);
CUQUOTA_AT(cuquota_header, member_offset, 32);
CUQUOTA_AT(cuquota_header, tenant_count, 40);
CUQUOTA_AT(cuquota_header, tenant_stride, 44);
CUQUOTA_AT(cuquota_header, tenant_offset, 48);
CUQUOTA_AT(cuquota_header, detail_stride, 56);
CUQUOTA_AT(cuquota_header, unit, 60);
CUQUOTA_AT(cuquota_header, detail_offset, 64);
CUQUOTA_AT(cuquota_header, features, 72);
CUQUOTA_AT(cuquota_header, uuid, 80);
CUQUOTA_AT(cuquota_header, device_bytes, 128);
CUQUOTA_AT(cuquota_header, boot_id, 136);
CUQUOTA_AT(cuquota_header, epoch, 256);
CUQUOTA_AT(cuquota_header, members_high, 260);
CUQUOTA_AT(cuquota_header, requests, 264);
CUQUOTA_AT(cuquota_header, tenants_high, 268);
CUQUOTA_AT(cuquota_header, swept_ns, 320);
CUQUOTA_AT(cuquota_header, swept_done_ns, 328);
CUQUOTA_AT(cuquota_header, sweep_cost_ns, 336);
CUQUOTA_AT(cuquota_header, forgotten_ns, 344);
CUQUOTA_AT(cuquota_header, context_units, 384);
CUQUOTA_AT(cuquota_header, context_driver, 388);
CUQUOTA_AT(cuquota_header, small_returns, 392);
CUQUOTA_AT(cuquota_tenant, state, 0);
CUQUOTA_AT(cuquota_tenant, flags, 4);
CUQUOTA_AT(cuquota_tenant, limit, 8);
CUQUOTA_AT(cuquota_tenant, request, 16);
CUQUOTA_AT(cuquota_tenant, keep_ns, 24);
CUQUOTA_AT(cuquota_tenant, left_ns, 32);
CUQUOTA_AT(cuquota_tenant, risen, 40);
CUQUOTA_AT(cuquota_tenant, name, 64);
CUQUOTA_AT(cuquota_slot, word, 0);
CUQUOTA_AT(cuquota_slot, pending, 8);
CUQUOTA_AT(cuquota_slot, state, 12);
CUQUOTA_AT(cuquota_slot, gen, 16);
CUQUOTA_AT(cuquota_slot, tenant, 20);
CUQUOTA_AT(cuquota_slot, held, 64);
CUQUOTA_AT(cuquota_slot, held_units, 64);
CUQUOTA_AT(cuquota_slot, held_of, 68);
CUQUOTA_AT(cuquota_detail, pid, 0);
CUQUOTA_AT(cuquota_detail, peak, 4);
CUQUOTA_AT(cuquota_detail, pid_namespace, 8);
CUQUOTA_AT(cuquota_detail, joined_ns, 16);
CUQUOTA_AT(cuquota_detail, command, 24);
CUQUOTA_AT(cuquota_detail, family, 40);
CUQUOTA_AT(cuquota_detail, refused_limit, 72);
CUQUOTA_AT(cuquota_detail, refused_guarantee, 80);
CUQUOTA_AT(cuquota_detail, refused_driver, 88);
CUQUOTA_AT(cuquota_detail, over, 96);
_Static_assert(sizeof(struct cuquota_header) == 448, "header");
_Static_assert(sizeof(struct cuquota_tenant) == 256, "tenant record");
_Static_assert(sizeof(struct cuquota_slot) == 128, "slot");
_Static_assert(sizeof(struct cuquota_detail) == 224, "detail");
#undef CUQUOTA_AT

/* Where a file made by this release keeps its parts; others are read from the header. */
#define CUQUOTA_HEADER_BYTES 4096u
#define CUQUOTA_TENANT_OFFSET CUQUOTA_HEADER_BYTES
#define CUQUOTA_TENANT_STRIDE (256u + 8u * CUQUOTA_MAP_WORDS(CUQUOTA_MEMBERS))
#define CUQUOTA_MEMBER_OFFSET (CUQUOTA_TENANT_OFFSET + CUQUOTA_TENANTS * CUQUOTA_TENANT_STRIDE)
#define CUQUOTA_DETAIL_STRIDE 256u
#define CUQUOTA_DETAIL_OFFSET (CUQUOTA_MEMBER_OFFSET + CUQUOTA_MEMBERS * 128u)
#define CUQUOTA_FILE_BYTES (CUQUOTA_DETAIL_OFFSET + CUQUOTA_MEMBERS * CUQUOTA_DETAIL_STRIDE)

#endif
