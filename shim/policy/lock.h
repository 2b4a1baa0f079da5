/*
 * The small lock of this floor's tables, for a few instructions. Owns: who may take one without an
 * atomic operation. Promise: it lies in memory that fork wipes, so one that another thread held at
 * the fork is free in the child; whoever waits sleeps after a while, so that a holder of lower
 * priority gets on. Keeps errno; no cancellation point.
 *
 * Most processes use the driver in one thread, and an atomic exchange costs more than all else
 * that is done under the lock. So the first thread that takes any lock, the owner, takes them by a
 * plain store of `own` as long as it is the only one: it stores, and then looks whether
 * `lock_shared` is still false. A second thread stores `lock_shared`, has the kernel pass a
 * barrier through every running thread (membarrier), takes the lock by exchange, and waits until
 * `own` is clear. If the owner did not see lock_shared, then its store of `own` came before the
 * barrier, and the second thread sees it; else the owner stands back. From then on everybody
 * exchanges.
 */
#ifndef POLICY_LOCK_H
#define POLICY_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct lock {
	uint32_t taken; /* by exchange */
	uint32_t own;	/* by the owner, without one */
};

struct lock_thread {
	bool known; /* has taken a lock before */
	bool owner;
};
extern __thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));
extern bool lock_shared; /* two threads have taken locks, or the kernel cannot do it */

void lock_take_shared(struct lock *lock);

/* The owner's way in, if it is still alone. */
static inline bool lock_take_own(struct lock *lock)
{
	if (!lock_thread.owner || __atomic_load_n(&lock_shared, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&lock->own, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(!__atomic_load_n(&lock_shared, __ATOMIC_ACQUIRE), 1))
		return true;
	__atomic_store_n(&lock->own, 0, __ATOMIC_RELEASE);
	return false;
}

static inline void lock_take(struct lock *lock)
{
	if (!lock_take_own(lock))
		lock_take_shared(lock);
}

static inline void lock_give(struct lock *lock)
{
	if (__builtin_expect(lock_thread.owner && __atomic_load_n(&lock->own, __ATOMIC_RELAXED), 1))
		__atomic_store_n(&lock->own, 0, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

/* A figure that all threads add to and nobody reads under a lock: the owner adds plainly while it
 * is alone, and `lock` tells who comes when it has. */
void lock_add_shared(struct lock *lock, uint32_t *figure, uint32_t more);

static inline void lock_add(struct lock *lock, uint32_t *figure, uint32_t more)
{
	if (__builtin_expect(lock_take_own(lock), 1)) {
		__atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&lock->own, 0, __ATOMIC_RELEASE);
		return;
	}
	lock_add_shared(lock, figure, more);
}

#endif
