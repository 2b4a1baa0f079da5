/*
 * Turns that a call of the driver takes: held while it runs. Owns: the cancellation state
 * meanwhile. Promise: a thread that never gives its turn back shuts out neither itself (a signal
 * handler jumped out of the call, or calls the driver above it) nor, once it has ended, anybody
 * else.
 */
#ifndef POLICY_TURN_H
#define POLICY_TURN_H

#include <pthread.h>
#include <stdbool.h>

struct turn {
	pthread_mutex_t mutex;
	bool started;
};

/* In memory that was zeroed, before it is used; again does nothing. */
void turn_start(struct turn *turn);
/* Returns what turn_give wants. */
int turn_take(struct turn *turn);
void turn_give(struct turn *turn, int cancel);

#endif
