/*
 * Reading the ledgers of a machine: what tools, exporters and examples use.
 *
 * Caveats first. A snapshot is taken without a lock while others allocate: each figure is one that
 * was true during the call, their sum need not be. Reading writes nothing, so members that died and
 * were not yet swept are left out here although the file still holds them. Process ids are those of
 * the member's own PID namespace. The folder is as trustworthy as the least of those who may write
 * it. A handle may be used by one thread at a time.
 *
 *         struct cuquota *ledgers;
 *         const struct cuquota_snapshot *now;
 *
 *         if (!cuquota_open(NULL, &ledgers) && !cuquota_snapshot(ledgers, &now))
 *                 for (uint32_t i = 0; i < now->device_count; i++)
 *                         puts(now->device[i].uuid);
 *         cuquota_close(ledgers);
 */
#ifndef CUQUOTA_H
#define CUQUOTA_H

#include <cuquota/ledger.h>

#define CUQUOTA_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

enum cuquota_life {
	CUQUOTA_ALIVE,
	CUQUOTA_GHOST, /* ended, but its forked children keep the memory */
};

/* One process on one device. Bytes. */
struct cuquota_member_info {
	uint32_t slot;
	uint32_t generation;
	enum cuquota_life life;
	int32_t pid; /* in its own namespace */
	uint64_t pid_namespace;
	char command[16];
	uint64_t used;	 /* charged: claims and blocks */
	uint64_t credit; /* granted and idle; anybody may take it back */
	uint64_t pending;
	uint64_t peak;
	uint64_t family[CUQUOTA_FAMILIES];
	uint64_t refused_limit;
	uint64_t refused_guarantee;
	uint64_t refused_driver;
	uint64_t over;
	uint64_t joined_ns; /* CLOCK_MONOTONIC */
};

/* One tenant on one device. Bytes. */
struct cuquota_tenant_info {
	char name[CUQUOTA_NAME];
	uint64_t limit;	  /* CUQUOTA_NONE without */
	uint64_t request; /* 0 without */
	uint64_t used;
	uint64_t credit;
	uint64_t free;	      /* what could be had now, as far as the ledger knows */
	uint64_t lent;	      /* of its request, what others hold */
	uint8_t administered; /* `cuquota set` holds */
	uint8_t promised;     /* the request binds others now */
	uint32_t member_count;
	const struct cuquota_member_info *member;
};

struct cuquota_device_info {
	char uuid[CUQUOTA_UUID_TEXT];
	uint64_t bytes; /* physical memory */
	uint64_t used;
	uint64_t credit;
	uint64_t promised;     /* sum of the requests that bind now */
	uint32_t tenant_count; /* those with members or a promised request */
	const struct cuquota_tenant_info *tenant;
	int error; /* not 0: this ledger could not be read, see why; the counts are 0 */
	char why[768];
};

struct cuquota_snapshot {
	const char *folder;
	uint64_t taken_ns;     /* CLOCK_MONOTONIC */
	uint32_t device_count; /* in the order of their UUIDs */
	const struct cuquota_device_info *device;
};

struct cuquota;

/*
 * Opens the folder of the ledgers. NULL: the one that this process' own settings name (CUQUOTA_DIR,
 * else /run/cuquota, else /dev/shm/cuquota).
 *
 * Returns 0 and sets *ledgers; -ENOENT: there is no such folder; -ENOMEM;
 * another -errno of opening it.
 */
int cuquota_open(const char *folder, struct cuquota **ledgers);

/*
 * Looks at all ledgers of the folder. *snapshot stays valid until the next call with this handle,
 * or cuquota_close.
 *
 * Returns 0, -ENOMEM, or the -errno of reading the folder. A ledger that cannot be read
 * is no error of the call.
 */
int cuquota_snapshot(struct cuquota *ledgers, const struct cuquota_snapshot **snapshot);

/* Frees everything. NULL is allowed. */
void cuquota_close(struct cuquota *ledgers);

/* What a result of these calls means. A constant. */
const char *cuquota_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
