/* Gates before unknown allocators; see gate.h. */
#include "driver/gate.h"

#include "base/log.h"
#include "driver/driver.h"
#include "driver/gate_count.h"

#include <stdint.h>
#include <stdio.h>

extern const char gate_entries[GATES * GATE_BYTES] __attribute__((visibility("hidden")));

/* Asked by gate_*.S with the number of a gate: where to go on. */
__attribute__((visibility("hidden"))) void *gate_pass(unsigned index);

struct known {
	void *function;
	char name[64]; /* for the message */
};

/* Filled before it is published in a gate, by one store of a pointer, and never changed after: so
 * nobody passes a gate without a name, and nobody waits. Of threads that come together with one
 * function the losers' entries are lost, hence more of them than gates. */
static struct known pool[4 * GATES];
static unsigned pool_used;
static struct known *gates[GATES];

static CUresult refuse(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

void gate_refused(const char *name)
{
	static uint64_t said;
	uint64_t bit = 0;

	for (const char *c = name; *c; c++)
		bit = bit * 31 + (unsigned char)*c;
	bit = (uint64_t)1 << bit % 64;
	if (!(__atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit))
		log_warn("%s is refused: this release does not know how much memory it takes, and "
			 "a limit is set; a newer cuquota may know it",
			 name);
}

void *gate_pass(unsigned index)
{
	const struct known *const known = __atomic_load_n(&gates[index], __ATOMIC_ACQUIRE);

	if (!limited())
		return known->function;
	gate_refused(known->name);
	return (void *)refuse;
}

static void *entry(unsigned index)
{
	return (void *)(uintptr_t)&gate_entries[(size_t)index * GATE_BYTES];
}

static struct known *known_new(void *function, const char *name)
{
	const unsigned index = __atomic_fetch_add(&pool_used, 1, __ATOMIC_RELAXED);
	struct known *known;

	if (index >= sizeof(pool) / sizeof(*pool)) {
		__atomic_store_n(&pool_used, index, __ATOMIC_RELAXED); /* it never wraps */
		return NULL;
	}
	known = &pool[index];
	known->function = function;
	snprintf(known->name, sizeof(known->name), "%s", name);
	return known;
}

void *gate_before(void *function, const char *name)
{
	struct known *own = NULL;

	for (unsigned i = 0; i < GATES; i++) {
		struct known *taken = __atomic_load_n(&gates[i], __ATOMIC_ACQUIRE);

		if (!taken) {
			own = own ? own : known_new(function, name);
			if (!own)
				break;
			if (__atomic_compare_exchange_n(&gates[i], &taken, own, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return entry(i);
		}
		if (taken->function == function)
			return entry(i);
	}
	gate_refused(name);
	return (void *)refuse;
}

bool gate_is(const void *address)
{
	return address == (void *)refuse ||
	       (uintptr_t)address - (uintptr_t)gate_entries < sizeof(gate_entries);
}
