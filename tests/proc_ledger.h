/*
 * The ledger as seen from outside by a proc_ test, through a reader's mapping, and its comparison
 * with the truth that the workers keep. Changes nothing. Included by proc_helper.h only.
 */
#ifndef TESTS_PROC_LEDGER_H
#define TESTS_PROC_LEDGER_H

#include "proc_worker.h"

TEST_USED static const struct segment *ledger(void)
{
	char why[SEGMENT_WHY];
	int rc;

	if (!world.reader.header) {
		rc = segment_open(&world.reader, world.dir, world.uuid, world.device_bytes,
				  SEGMENT_READER, why);
		if (rc)
			FAIL("the ledger does not open: %d, %s", rc, why);
	}
	return &world.reader;
}

TEST_USED static struct cuquota_slot ledger_slot(uint32_t index)
{
	return *segment_slot(ledger(), index);
}

/* What the kernel says of the owner of a slot: enum life. */
TEST_USED static int ledger_life(uint32_t slot)
{
	struct life_file file = LIFE_FILE_CLOSED;
	const int life = life_test(ledger(), &file, slot);

	life_close(&file);
	return life;
}

TEST_USED static uint32_t ledger_used_slots(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ledger()->member_count; i++)
		n += __atomic_load_n(&segment_slot(ledger(), i)->state, __ATOMIC_ACQUIRE) !=
		     CUQUOTA_FREE;
	return n;
}

/* Units charged in slots of `tenant` (UINT32_MAX: all). */
TEST_USED static uint64_t ledger_charged(uint32_t tenant)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ledger()->member_count; i++) {
		const struct cuquota_slot s = ledger_slot(i);

		if (s.state != CUQUOTA_FREE && (tenant == UINT32_MAX || s.tenant == tenant))
			sum += CUQUOTA_CHARGED(s.word);
	}
	return sum;
}

TEST_USED static uint64_t really_held(uint32_t tenant)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < world.count; i++)
		if (world.workers[i].joined &&
		    (tenant == UINT32_MAX || world.workers[i].tenant == tenant))
			sum += world.shared->holds[i];
	return sum;
}

/* At rest: every slot in use is a living worker's and holds what that holds; all others are empty
 * and can be had. */
TEST_USED static void ledger_is_true(const char *when)
{
	for (uint32_t i = 0; i < segment_high(ledger()); i++) {
		const struct cuquota_slot slot = ledger_slot(i);
		const struct worker *owner = NULL;

		for (unsigned k = 0; k < world.count; k++)
			if (world.workers[k].joined && world.workers[k].slot == i)
				owner = &world.workers[k];
		if (slot.state == CUQUOTA_FREE) {
			const int life = ledger_life(i);

			if (owner)
				FAIL("%s: slot %u of worker %u is free", when, i, owner->index);
			/* Who died in a join may have left its tenant there, with nothing. */
			if (slot.word || slot.pending || (uint32_t)slot.held)
				FAIL("%s: free slot %u has word %#llx pending %u held %#llx", when,
				     i, (unsigned long long)slot.word, slot.pending,
				     (unsigned long long)slot.held);
			if (life != LIFE_DEAD)
				FAIL("%s: free slot %u is lost, its locks are held (%d)", when, i,
				     life);
			continue;
		}
		if (!owner)
			FAIL("%s: slot %u is in use by nobody, word %#llx", when, i,
			     (unsigned long long)slot.word);
		if (slot.gen != owner->gen || slot.pending ||
		    CUQUOTA_CHARGED(slot.word) != world.shared->holds[owner->index])
			FAIL("%s: slot %u of worker %u: gen %u (its own: %u), pending %u, charged "
			     "%u (it holds %u)",
			     when, i, owner->index, slot.gen, owner->gen, slot.pending,
			     CUQUOTA_CHARGED(slot.word), world.shared->holds[owner->index]);
		/* Workers charge, and hold nothing to show. */
		if (slot.held != CUQUOTA_HELD(slot.tenant, 0))
			FAIL("%s: slot %u of tenant %u has held %#llx", when, i, slot.tenant,
			     (unsigned long long)slot.held);
		if (ledger_life(i) != LIFE_ALIVE)
			FAIL("%s: worker %u in slot %u is not seen alive", when, owner->index, i);
	}
}

#endif
