/*
 * The one memory account of all processes that use the same SIMGPU_DIR.
 *
 * Owns: the file <dir>/account, the files <dir>/life.<k> and every word in them.
 * Promises: what a process holds is given back when the last open file that stands for it closes
 * (fork inherits it), however it ended; the maxima are exact; nobody waits for anybody.
 * Must never: include anything of CUDA or NVML; take a lock around a charge.
 *
 * One word per device and tag is the linearisation point of every charge and refund: 30 bits of
 * value (units of 512 bytes), 12 bits of slot and 22 bits of sequence: who wrote it last, and which
 * of his operations that was. Before a writer replaces another's word it does two things for him:
 * it folds the value into the maximum, and it notes in his slot that the operation took effect
 * (`applied`). A writer announces each operation with the sum he will hold after it (`intent`), so
 * whoever reaps a dead process knows whether its last operation counts: the word still carries it,
 * or `applied` does; else it never was. The reaper owns the dead slot's byte in the life file and
 * then works as that slot, so that a reaper's own death is resolved in the same way. Before a
 * charge may set a new maximum the dead are reaped, so that no maximum counts memory of a process
 * that had ended before the charge began.
 *
 * Capacity is granted to tags (`grant`): the sum of all grants is at most the device. A grant is
 * lowered by storing the new one and then writing the word once without changing the value, which
 * makes every charge that had seen the old grant fail and look again.
 */
#ifndef SIMGPU_ACCOUNT_H
#define SIMGPU_ACCOUNT_H

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	ACCOUNT_UNIT = 512,
	ACCOUNT_SLOTS = 4096,
	ACCOUNT_TAGS = 128,
	ACCOUNT_LIFE_SLOTS = 64, /* bytes to a life file: a test is linear in a file's locks */
};

#define ACCOUNT_MAGIC 0x31305f5550474d53ULL /* "SMGPU_01" */

/* One device and tag. */
struct account_cell {
	uint64_t word;	   /* value, slot, sequence; all writers, by compare-and-swap */
	uint32_t max;	   /* largest value that `word` ever lost; >= every overwritten value */
	uint32_t grant;	   /* raised and lowered under the grant lock only */
	/* part of grant beyond the device: oversubscribed managed memory; grant lock */
	uint32_t over;
	uint32_t pad[11];
};

struct account_slot {
	uint32_t state;			/* 0 free, 1 used; written last at join and at reap */
	uint32_t pid;			/* as the process sees itself */
	uint32_t tag;
	uint32_t device_mask;		/* devices that the process has touched */
	uint64_t sequence; /* of the last operation; never goes back, not even when reused */
	uint64_t intent;		/* sequence of the operation in flight, 0 when none */
	uint32_t intent_device;
	uint32_t intent_held;		/* what held[intent_device] will be */
	pthread_mutex_t life;		/* robust; only a hint that costs one load: "may be dead" */
	uint32_t held[CARDS_MAX];	/* units */
	uint32_t held_max[CARDS_MAX];
	uint64_t applied[CARDS_MAX]; /* 22 bits of sequence below a count of changes; any helper */
	char name[16];
	uint32_t outer_pid;		/* as /proc names it, which may be another namespace's */
	uint8_t pad[512 - 7 * 4 - 2 * 8 - sizeof(pthread_mutex_t) - CARDS_MAX * 16 - 16];
};

struct account_device {
	unsigned char uuid[16];
	uint32_t units;
	uint32_t pad[11];
};

struct account_file {
	uint64_t magic; /* written last */
	uint32_t devices;
	uint32_t tags;	/* names in use; join lock */
	uint32_t slots;	/* high-water mark; join lock */
	uint32_t pad;
	uint64_t disturbs; /* counts writes that change no value; any */
	uint32_t pad2[8];
	struct account_device device[CARDS_MAX];
	char tag[ACCOUNT_TAGS][64];
	struct account_cell cell[CARDS_MAX][ACCOUNT_TAGS];
	struct account_slot slot[ACCOUNT_SLOTS];
};

_Static_assert(sizeof(struct account_cell) == 64, "one cell to a cache line");
_Static_assert(sizeof(struct account_slot) == 512, "slot size");

struct account {
	struct account_file *file;
	char dir[256];
	int slot; /* -1: reads and reaps only */
	int life; /* the open file that stands for this process */
};

/* Maps the account. With a config it is created when missing; one made for other cards is replaced
 * if nobody uses it, else -EBUSY. */
int account_open(struct account *account, const char *dir, const struct config *config);
void account_close(struct account *account);

/* Takes a slot. After this the process holds memory until `life` and its copies close. */
int account_join(struct account *account, const char *tag);

/* One thread of a process at a time. -ENOMEM when the device has no more; `over` admits beyond the
 * device. */
int account_charge(struct account *account, unsigned int device, uint32_t units, bool over);
void account_refund(struct account *account, unsigned int device, uint32_t units);

/* Memory beyond the device ends with what made it necessary. */
void account_shrink(struct account *account, unsigned int device, unsigned int tag);

/* Gives back what dead processes held. `thorough` tests every slot, else only those that look
 * dead. */
void account_reap(struct account *account, bool thorough);

/* All tags together. */
uint64_t account_used(const struct account *account, unsigned int device);
void account_reset_max(struct account *account);

static inline uint32_t account_value(const uint64_t word)
{
	return (uint32_t)(word >> 34);
}

static inline uint32_t account_units(const uint64_t bytes)
{
	return (uint32_t)((bytes + ACCOUNT_UNIT - 1) / ACCOUNT_UNIT);
}

#endif
