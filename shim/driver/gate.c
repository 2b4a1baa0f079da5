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

static struct gate {
	void *function; /* set once, which takes the gate */
	char name[64];	/* for the message; written by whoever took the gate,
			 * before anybody knows it */
} gates[GATES];

static CUresult refuse(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

void gate_refused(const char *name)
{
	static uint64_t said;
	uint64_t bit = 0;

	for (const char *c = name; *c; c++)
		bit = bit * 31 + *c;
	bit = (uint64_t)1 << bit % 64;
	if (!(__atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit))
		log_warn("%s is refused: this release does not know how much memory it takes, and "
			 "a limit is set; a newer cuquota may know it",
			 name);
}

void *gate_pass(unsigned index)
{
	if (!limited())
		return gates[index].function;
	gate_refused(gates[index].name);
	return (void *)refuse;
}

void *gate_before(void *function, const char *name)
{
	for (unsigned i = 0; i < GATES; i++) {
		void *taken = NULL;

		if (__atomic_compare_exchange_n(&gates[i].function, &taken, function, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			snprintf(gates[i].name, sizeof(gates[i].name), "%s", name);
		else if (taken != function)
			continue;
		return (void *)(gate_entries + i * GATE_BYTES);
	}
	gate_refused(name);
	return (void *)refuse;
}

bool gate_is(const void *address)
{
	return address == (void *)refuse ||
	       (uintptr_t)address - (uintptr_t)gate_entries < sizeof(gate_entries);
}
