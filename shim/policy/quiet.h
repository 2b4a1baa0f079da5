/*
 * Measuring alone. Owns: the knowledge whether this process or anybody else moved memory of a
 * device during a measurement, and what was learned that way: whether the driver gives an emptied
 * grain back. Promise: nothing is learned from a measurement that anything of ours disturbed; where
 * all is known already, or only one thread uses the driver, a claim pays one load.
 */
#ifndef POLICY_QUIET_H
#define POLICY_QUIET_H

#include "policy/state.h"

extern bool quiet_unknown; /* something is still to be learned */
/* that ever came to a hook of memory; alone there is nobody to disturb */
extern uint32_t quiet_threads;

/* Brackets of everything of ours that moves memory of a device. The first returns what the second
 * wants. */
bool quiet_move_slow(void);
void quiet_moved_slow(void);

static inline bool quiet_move(void)
{
	return __builtin_expect(__atomic_load_n(&quiet_unknown, __ATOMIC_RELAXED), 0) &&
	       quiet_move_slow();
}

static inline void quiet_moved(bool moving)
{
	if (__builtin_expect(moving, 0))
		quiet_moved_slow();
}

/* Makes the memory. 0 or -ENOMEM. */
int quiet_start(void);
/* Begin to want, or stop it. A measurement begins a while later only, when what is in flight now is
 * over. */
void quiet_want(bool unknown);

/* What the ledger says of emptied grains: 1 given back, 2 kept, 0 not known. */
uint32_t quiet_returns(const struct device *device);

/* A measurement; the caller is inside its own bracket. */
struct quiet {
	struct account_watch watch;
	uint64_t word, moves;
	size_t free, total;
	uint32_t threads;
};
/* `moving`: what quiet_move returned. False: something is in the way. */
bool quiet_begin(const struct device *device, bool moving, struct quiet *quiet);
/* Free memory now; false when disturbed. */
bool quiet_end(const struct device *device, const struct quiet *quiet, size_t *now_free);

/* Whether the free that lies between quiet_begin and this, and emptied a grain, gave it back. */
void quiet_learn(const struct device *device, const struct quiet *quiet);

#endif
