/*
 * Live allocations of this process by address. Owns: the table (a map of what begins where a grain
 * does, 64 shards of entries for the rest) and the epoch that tells an insertion that the world
 * changed while its allocation was in flight. Knows no driver and no account.
 *
 * A free needs no mark. A free that the driver accepted killed exactly one live allocation at that
 * address, so the oldest block with that address goes. Between the driver's acceptance and our
 * removal another thread may be given the same address and enter it; then two blocks have one
 * address, one of them dead, and each accepted free takes one away: as many remain as are alive.
 * They are taken in the order in which they came, so the dead one goes first. A free that the
 * driver refuses takes nothing.
 *
 * The epoch. An accepted free that finds no block (memory of a pool, or an address freed twice
 * while another thread was just given it), the end of a context, and a new place in the ledger
 * raise it before they look (again). An insertion that began before looks at the epoch under the
 * shard's lock: either it is seen by them, or it sees the epoch and asks the driver whether its
 * allocation still lives.
 */
#ifndef POLICY_BLOCK_H
#define POLICY_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum block_kind {
	BLOCK_WHOLE,	    /* owns `units` */
	BLOCK_SMALL,	    /* lies in an extent that owns them */
	BLOCK_SMALL_ACROSS, /* lies in two */
};

struct block {
	uint64_t pointer; /* never 0; 57 bits, more than any processor or device has */
	uint32_t units;	  /* 28 bits, as in the ledger */
	uint32_t context; /* serial, 24 bits, 0 for memory that no context owns */
	uint8_t device;	  /* ordinal, 6 bits */
	uint8_t family;
	uint8_t seat; /* which joining its charge belongs to */
	uint8_t kind;
};

/* Makes the table, or finds it empty in a forked child. 0 or -ENOMEM. */
int block_start(void);

extern uint64_t block_epoch_word;
static inline uint64_t block_epoch(void)
{
	return __atomic_load_n(&block_epoch_word, __ATOMIC_SEQ_CST);
}
void block_epoch_raise(void);

/* 0; -EAGAIN when the epoch is no longer `epoch`: nothing was entered; -ENOMEM, also for what an
 * entry cannot hold. */
int block_add(const struct block *block, uint64_t epoch);
/* Removes the oldest block of that address. */
bool block_take(uint64_t pointer, struct block *taken);

/*
 * Removes all of a context, raise the epoch first. `whole` is handed each block that owns units,
 * under a lock, and takes none; `small` each that lies in extents, with no lock held.
 */
void block_drop_context(uint32_t context, void (*whole)(const struct block *block),
			void (*small)(const struct block *block));
/* Gives all of a device to the new place `seat`, raise the epoch first; `adopt` is called with
 * their units, under the locks of those. */
void block_adopt(uint8_t device, uint8_t seat, void (*adopt)(uint8_t device, uint32_t units));
uint64_t block_count(void);

#endif
