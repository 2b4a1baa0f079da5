/*
 * Named points at which a debug build can be paused or killed. Owns nothing in a release build:
 * POINT() is empty there. A build with -DCUQUOTA_POINTS reads
 * CUQUOTA_POINT="name[:nth][:kill|stop]" and, at the nth passing of that point (from 1) in this
 * process, kills or stops the process; with CUQUOTA_POINT_LIST=file it appends each name the first
 * time it is passed.
 */
#ifndef CUQUOTA_POINT_H
#define CUQUOTA_POINT_H

#ifdef CUQUOTA_POINTS
void point_reach(const char *name);
#define POINT(name) point_reach(name)
#elif defined(CUQUOTA_TRACE)
void point_began(void);
#define POINT(name) point_began()
#else
#define POINT(name) ((void)0)
#endif

/*
 * A step of the ledger's protocol that has just been made, for tests/model/replay.py. Empty but in
 * a build with -DCUQUOTA_TRACE (make TRACE=1), which appends to the file "$CUQUOTA_TRACE/<pid>"
 * a line "begin end step slot value kept". The access lies between the two, times of
 * CLOCK_MONOTONIC; begin is when the thread last passed a POINT() or TRACE().
 */
#define TRACE_OWN (~0ull) /* for slot: the process's own */
#ifdef CUQUOTA_TRACE
void point_trace(const char *step, unsigned long long slot, unsigned long long value,
		 unsigned long long kept);
#define TRACE(step, slot, value, kept) point_trace(step, slot, value, kept)
#else
/* Looked at by the compiler, so that it goes on fitting the code, and never evaluated. */
#define TRACE(step, slot, value, kept) \
	((void)sizeof(1ull * (slot) + 1ull * (value) + 1ull * (kept)))
#endif

#endif
