/*
 * What the programs of the bench share beside the driver's calls: arguments of the form
 * name=value, pinning, and how long a thread has waited for a processor.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdint.h>

/* One argument: where its text or its number goes. */
struct option {
	const char *name;
	const char **text;
	long *number;
};

/* `known` ends with a name of NULL. An argument that is not known ends the program. */
void options_parse(int argc, char **argv, const struct option *known);
/* The place of `word` among `names`, which end with NULL; another word ends the program. */
int options_index(const char *word, const char *const names[], const char *what);
/* Pins the calling thread, and what it starts, to one processor. */
void pin_to(long cpu);
/* The calling thread to the n-th of the processors that it may use, round and round; -1: the last.
 */
void pin_in_turn(long n);
/* How long this thread has waited for a processor, ns; 0 where the kernel does not tell. */
uint64_t waited_ns(void);

#endif
