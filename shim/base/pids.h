/*
 * Processes of other PID namespaces, as this one counts them.
 *
 * Owns: looking them up in /proc. Promises: a number is given only where it is certain that it
 * names that process here; keeps errno; writes nothing. For what is asked seldom: one look reads a
 * file or two for each process of the machine.
 */
#ifndef BASE_PIDS_H
#define BASE_PIDS_H

#include <stdint.h>

/* The inode of this process's PID namespace; 0 where it cannot be told. */
uint64_t pids_namespace(void);

/*
 * What the process is called here that calls itself `pid` in another namespace. 0: that one is not
 * within ours, the process may not be looked at, or /proc is not this namespace's.
 */
int pids_find(int pid, uint64_t pid_namespace);

#endif
