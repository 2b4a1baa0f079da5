/*
 * Waiting for a lock, and the end of the owner's privilege. See lock.h.
 */
#include "policy/lock.h"
#include "base/wiped.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 200
#define NAP_MIN 10000u
#define NAP_MAX 200000u
#define DRAIN_NS 10000000u

__thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));
bool lock_shared;
static bool owned;

static bool barrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/*
 * The first comer becomes the owner, where the kernel can pass barriers; every other ends that. A
 * child of a fork may have to register anew. Where a filter that was installed since forbids the
 * barrier, a time is waited in which any processor has long written out its stores.
 */
static void meet(void)
{
	const int kept = errno;

	lock_thread.known = true;
	if (!__atomic_exchange_n(&owned, true, __ATOMIC_SEQ_CST)) {
		if (barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
			lock_thread.owner = true;
		else
			__atomic_store_n(&lock_shared, true, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&lock_shared, true, __ATOMIC_SEQ_CST);
		if (!barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
		    (!barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ||
		     !barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)))
			nap_ns(DRAIN_NS);
	}
	errno = kept;
}

/* Until `word` is 0. */
static void wait_clear(const uint32_t *word)
{
	uint64_t nap = NAP_MIN;

	for (;;) {
		for (int spins = SPINS; spins; spins--)
			if (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
				return;
		nap_ns(nap);
		nap = nap < NAP_MAX ? nap * 2 : nap;
	}
}

void lock_take_shared(struct lock *lock)
{
	if (__builtin_expect(!lock_thread.known, 0)) {
		meet();
		if (lock_thread.owner) {
			lock_take(lock);
			return;
		}
	}
	while (__builtin_expect(__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE), 0))
		wait_clear(&lock->taken);
	if (__builtin_expect(__atomic_load_n(&lock->own, __ATOMIC_ACQUIRE), 0))
		wait_clear(&lock->own);
}

void lock_add_shared(struct lock *lock, uint32_t *figure, uint32_t more)
{
	if (__builtin_expect(!lock_thread.known, 0)) {
		meet();
		if (lock_thread.owner) {
			lock_add(lock, figure, more);
			return;
		}
	}
	/* The owner itself comes here out of a signal handler above its own addition, or after one
	 * jumped out of it. */
	if (__builtin_expect(__atomic_load_n(&lock->own, __ATOMIC_ACQUIRE), 0) &&
	    !lock_thread.owner)
		wait_clear(&lock->own);
	__atomic_fetch_add(figure, more, __ATOMIC_RELAXED);
}
