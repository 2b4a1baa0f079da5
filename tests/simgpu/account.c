/*
 * Charging and refunding on the account. The argument for it stands in account.h; who lives and who
 * is dead in reap.c.
 */
#include "account.h"
#include "account_locks.h"

#include <errno.h>

#define SEQUENCE_MASK ((1ULL << 22) - 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { NOBODY = ACCOUNT_SLOTS - 1, /* the slot that no process gets */
       REAP_OFTEN = 1000 };	   /* tries for one new maximum; never seen */

static uint64_t make_word(const uint32_t value, const unsigned int slot, const uint64_t sequence)
{
	return (uint64_t)value << 34 | (uint64_t)slot << 22 | (sequence & SEQUENCE_MASK);
}

static unsigned int word_slot(const uint64_t word)
{
	return (unsigned int)(word >> 22) & (ACCOUNT_SLOTS - 1);
}

static void fold_max(struct account_cell *cell, const uint32_t value)
{
	uint32_t max = __atomic_load_n(&cell->max, __ATOMIC_RELAXED);

	while (value > max && !__atomic_compare_exchange_n(&cell->max, &max, value, false,
							   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

/* The writer of `word` may not yet know that his operation took effect. */
static bool must_note(const uint64_t word, const unsigned int slot)
{
	return word && word_slot(word) != slot && word_slot(word) != NOBODY;
}

/* False when `cell` no longer carries `word`. */
static __attribute__((noinline)) bool note_applied(struct account_file *file,
						   struct account_cell *cell,
						   const unsigned int device, const uint64_t word)
{
	uint64_t *const applied = &file->slot[word_slot(word)].applied[device];

	for (;;) {
		/* Read before the word is read again: a note that is late finds the count
		 * changed. */
		uint64_t seen = __atomic_load_n(applied, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&cell->word, __ATOMIC_ACQUIRE) != word)
			return false;
		if ((seen & SEQUENCE_MASK) == (word & SEQUENCE_MASK))
			return true;
		if (__atomic_compare_exchange_n(
			    applied, &seen, ((seen | SEQUENCE_MASK) + 1) | (word & SEQUENCE_MASK),
			    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	}
}

static inline uint64_t next_sequence(const struct account_slot *own, const unsigned int slot,
				     const unsigned int device, const struct account_cell *cell)
{
	uint64_t sequence = own->sequence + 1;

	/* Never one that an old trace could be taken for. */
	for (;; sequence++) {
		const uint64_t low = sequence & SEQUENCE_MASK;
		const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);

		if (unlikely(!low || low == (__atomic_load_n(&own->applied[device],
							     __ATOMIC_RELAXED) &
					     SEQUENCE_MASK)))
			continue;
		if (unlikely(word_slot(word) == slot && low == (word & SEQUENCE_MASK)))
			continue;
		return sequence;
	}
}

/*
 * Moves `delta` units as `slot`. -ENOMEM when the tag's grant does not allow it. What would be a
 * new maximum is written only over a word that was read before the dead were reaped (by `reaper`):
 * what they held does not count in it, and who had it after them has written the word since.
 * Inlined: of a charge and of a refund each needs a part only.
 */
static inline __attribute__((always_inline)) int
move(struct account_file *file, const unsigned int slot, const unsigned int device,
     const int64_t delta, struct account *const reaper)
{
	struct account_slot *const own = &file->slot[slot];
	struct account_cell *const cell = &file->cell[device][own->tag % ACCOUNT_TAGS];
	const uint64_t sequence = next_sequence(own, slot, device, cell);
	const uint32_t held = (uint32_t)(own->held[device] + delta);
	unsigned int tries = 0;
	uint64_t word;

	own->intent_device = device;
	own->intent_held = held;
	__atomic_store_n(&own->sequence, sequence, __ATOMIC_RELEASE);
	__atomic_store_n(&own->intent, sequence, __ATOMIC_RELEASE);
	word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);
	for (;;) {
		const int64_t value = (int64_t)account_value(word) + delta;

		/* After the word: see "Capacity" in account.h. */
		if (delta > 0 &&
		    unlikely(value > __atomic_load_n(&cell->grant, __ATOMIC_ACQUIRE))) {
			__atomic_store_n(&own->intent, 0, __ATOMIC_RELEASE);
			return -ENOMEM;
		}
		fold_max(cell, account_value(word));
		if (delta > 0 && reaper &&
		    unlikely(value > __atomic_load_n(&cell->max, __ATOMIC_RELAXED)) &&
		    tries++ < REAP_OFTEN)
			account_reap(reaper, false);
		if (unlikely(must_note(word, slot)) && !note_applied(file, cell, device, word)) {
			word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);
			continue;
		}
		if (__atomic_compare_exchange_n(&cell->word, &word,
						make_word((uint32_t)value, slot, sequence), false,
						__ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
			break;
	}
	__atomic_store_n(&own->held[device], held, __ATOMIC_RELEASE);
	__atomic_store_n(&own->intent, 0, __ATOMIC_RELEASE);
	if (held > own->held_max[device])
		own->held_max[device] = held;
	return 0;
}

void account_settle(struct account_file *file, const unsigned int slot)
{
	struct account_slot *const own = &file->slot[slot];
	const uint64_t sequence = __atomic_load_n(&own->intent, __ATOMIC_ACQUIRE);
	unsigned int device = own->intent_device % CARDS_MAX;

	if (sequence) {
		const uint64_t low = sequence & SEQUENCE_MASK;
		const uint64_t word = __atomic_load_n(
			&file->cell[device][own->tag % ACCOUNT_TAGS].word, __ATOMIC_ACQUIRE);
		const uint64_t applied = __atomic_load_n(&own->applied[device], __ATOMIC_ACQUIRE);

		if ((word_slot(word) == slot && (word & SEQUENCE_MASK) == low) ||
		    (applied & SEQUENCE_MASK) == low)
			__atomic_store_n(&own->held[device], own->intent_held, __ATOMIC_RELEASE);
		__atomic_store_n(&own->intent, 0, __ATOMIC_RELEASE);
	}
	for (device = 0; device < CARDS_MAX; device++)
		if (own->held[device])
			move(file, slot, device, -(int64_t)own->held[device], NULL);
}

/* Writes the word without changing its value, so that nobody's older reading of it can succeed. */
static uint32_t disturb(struct account_file *file, const unsigned int device,
			const unsigned int tag)
{
	struct account_cell *const cell = &file->cell[device][tag];
	uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);

	for (;;) {
		const uint64_t count = __atomic_add_fetch(&file->disturbs, 1, __ATOMIC_RELAXED);

		fold_max(cell, account_value(word));
		if (must_note(word, NOBODY) && !note_applied(file, cell, device, word)) {
			word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);
			continue;
		}
		if (__atomic_compare_exchange_n(&cell->word, &word,
						make_word(account_value(word), NOBODY, count),
						false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
			return account_value(word);
	}
}

/*
 * Lowers a grant to what is held, and returns what of the device that sets free. Under the grant
 * lock. The order of the stores is such that a death between them leaves the sum of the grants too
 * large, never too small.
 */
static uint32_t lower_grant(struct account_file *file, const unsigned int device,
			    const unsigned int tag)
{
	struct account_cell *const cell = &file->cell[device][tag];
	const uint32_t before = cell->grant;
	const uint32_t real = before - (cell->over < before ? cell->over : before);
	const uint32_t value = account_value(__atomic_load_n(&cell->word, __ATOMIC_ACQUIRE));
	uint32_t after;

	if (before <= value)
		return 0;
	cell->over = value > real ? value - real : 0;
	__atomic_store_n(&cell->grant, value, __ATOMIC_SEQ_CST);
	after = disturb(file, device, tag);
	if (after > value) { /* somebody was quicker than the new grant; it is his */
		__atomic_store_n(&cell->grant, after, __ATOMIC_SEQ_CST);
		cell->over = after > real ? after - real : 0;
	}
	return real - (cell->grant - cell->over);
}

/* Raises the own tag's grant so that `units` more fit. */
static int grow_grant(struct account *account, const unsigned int device, const uint32_t units,
		      const bool over)
{
	struct account_file *const file = account->file;
	const uint32_t tag = file->slot[account->slot].tag % ACCOUNT_TAGS;
	struct account_cell *const own = &file->cell[device][tag];
	const uint32_t chunk = file->device[device].units / 16;
	const int lock = account_lock(account, "grant.lock");
	uint64_t granted = 0, wanted, free;
	uint32_t other;
	int rc = 0;

	if (lock < 0)
		return lock;
	for (other = 0; other < file->tags && other < ACCOUNT_TAGS; other++)
		granted += file->cell[device][other].grant - file->cell[device][other].over;
	free = granted < file->device[device].units ? file->device[device].units - granted : 0;
	wanted = (uint64_t)account_value(__atomic_load_n(&own->word, __ATOMIC_ACQUIRE)) + units;
	wanted = wanted > own->grant ? wanted - own->grant : 0;
	for (other = 0; other < file->tags && free < wanted; other++)
		if (other != tag)
			free += lower_grant(file, device, other);
	if (free >= wanted) {
		const uint64_t extra = free - wanted < chunk ? free - wanted : chunk;

		__atomic_store_n(&own->grant, (uint32_t)(own->grant + wanted + extra),
				 __ATOMIC_SEQ_CST);
	} else if (over) {
		__atomic_store_n(&own->grant, (uint32_t)(own->grant + wanted), __ATOMIC_SEQ_CST);
		own->over += (uint32_t)(wanted - free);
	} else {
		rc = -ENOMEM;
	}
	account_unlock(lock);
	return rc;
}

void account_shrink(struct account *account, const unsigned int device, const unsigned int tag)
{
	int lock;

	if (!account->file->cell[device][tag].over)
		return;
	lock = account_lock(account, "grant.lock");
	if (lock < 0)
		return;
	lower_grant(account->file, device, tag);
	account_unlock(lock);
}

/* After the grant was found too small. */
static __attribute__((noinline)) int charge_more(struct account *account,
						 const unsigned int device, const uint32_t units,
						 const bool over)
{
	int tries, rc = -ENOMEM;

	/* Between the grant and the charge others of the same tag may use it up. */
	for (tries = 0; rc == -ENOMEM && tries < 1000; tries++) {
		rc = grow_grant(account, device, units, over);
		if (rc == -ENOMEM && !tries) {
			account_reap(account, true);
			rc = grow_grant(account, device, units, over);
		}
		if (rc)
			return rc;
		rc = move(account->file, (unsigned int)account->slot, device, units, account);
	}
	return rc;
}

int account_charge(struct account *account, const unsigned int device, const uint32_t units,
		   const bool over)
{
	if (!move(account->file, (unsigned int)account->slot, device, units, account))
		return 0;
	return charge_more(account, device, units, over);
}

void account_refund(struct account *account, const unsigned int device, const uint32_t units)
{
	struct account_file *const file = account->file;
	const unsigned int slot = (unsigned int)account->slot;

	move(file, slot, device, -(int64_t)units, NULL);
	account_shrink(account, device, file->slot[slot].tag % ACCOUNT_TAGS);
}

uint64_t account_used(const struct account *account, const unsigned int device)
{
	const struct account_file *const file = account->file;
	uint64_t used = 0;
	uint32_t tag;

	for (tag = 0; tag < file->tags && tag < ACCOUNT_TAGS; tag++)
		used += account_value(
			__atomic_load_n(&file->cell[device][tag].word, __ATOMIC_ACQUIRE));
	return used * ACCOUNT_UNIT;
}

void account_reset_max(struct account *account)
{
	unsigned int device, tag;

	for (device = 0; device < CARDS_MAX; device++)
		for (tag = 0; tag < ACCOUNT_TAGS; tag++)
			__atomic_store_n(&account->file->cell[device][tag].max, 0,
					 __ATOMIC_RELEASE);
}
