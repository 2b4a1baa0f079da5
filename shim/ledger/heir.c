/*
 * Heirs of a hold. See heir.h.
 */
#include "ledger/heir.h"
#include "base/point.h"
#include "ledger/lockfile.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRIES 20  /* for the list, 0.1 ms apart */
#define HOLDS 128 /* a process has one for each device, and one more for each place that it lost */

/* All that the handler needs, ready: it runs in the child of a process with threads. */
struct heirloom {
	int hold; /* descriptor + 1; 0: free. Stored last */
	off_t byte;
	uint64_t device, inode;
	char path[SEGMENT_PATH + LOCKFILE_SUFFIX];
};

static struct heirloom heirlooms[HOLDS];
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static bool listening;

static bool is_file(int file, const struct heirloom *heirloom)
{
	struct stat status;

	return !fstat(file, &status) && (uint64_t)status.st_dev == heirloom->device &&
	       (uint64_t)status.st_ino == heirloom->inode;
}

/* Where no lock of its own can be had the child goes on sharing. */
static void inherit(const struct heirloom *heirloom)
{
	const int hold = __atomic_load_n(&heirloom->hold, __ATOMIC_ACQUIRE) - 1;
	int file;

	/* An application may have closed the number, with the driver's, and have another file
	 * there. */
	if (hold < 0 || !is_file(hold, heirloom))
		return;
	POINT("heir.looked");
	file = open(heirloom->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return;
	if (is_file(file, heirloom) && !lockfile_lock(file, heirloom->byte, F_RDLCK))
		dup3(file, hold, O_CLOEXEC);
	close(file);
}

/* Only calls that may be made between fork and exec: the parent's other threads may have had any
 * lock. */
static void in_child(void)
{
	const int kept = errno;

	for (unsigned i = 0; i < HOLDS; i++)
		inherit(&heirlooms[i]);
	pthread_mutex_init(&listing, NULL);
	errno = kept;
}

/* Not for long: the fork may be made by a signal handler whose thread has the list. */
static bool try_listing(void)
{
	const struct timespec nap = {0, 100000};
	unsigned tries = 0;

	while (pthread_mutex_trylock(&listing)) {
		if (++tries == TRIES)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

/*
 * Until one of the two has a lock of its own they share one, and a newborn child may long wait for
 * a processor: so whichever is first takes its own. Only with the list in hand, since another
 * thread may be about to close a hold, and the program to get its number for a file; else this is
 * left to the child, which has no other threads. The list is not taken before the fork, so that it
 * is not held while the handlers of others wait for locks of theirs.
 */
static void in_parent(void)
{
	const int kept = errno;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (try_listing()) {
		for (unsigned i = 0; i < HOLDS; i++)
			inherit(&heirlooms[i]);
		pthread_mutex_unlock(&listing);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = kept;
}

void heir_leave(const struct segment *segment, const struct life_lock *lock, uint32_t group,
		off_t byte)
{
	struct heirloom *heirloom = NULL;

	pthread_mutex_lock(&listing);
	POINT("heir.listing");
	if (!listening)
		listening = pthread_atfork(NULL, in_parent, in_child) == 0;
	for (unsigned i = 0; i < HOLDS && !heirloom; i++)
		if (!heirlooms[i].hold)
			heirloom = &heirlooms[i];
	if (heirloom) {
		snprintf(heirloom->path, sizeof(heirloom->path), "%s.life.%u", segment->path,
			 group);
		heirloom->byte = byte;
		heirloom->device = lock->device;
		heirloom->inode = lock->inode;
		__atomic_store_n(&heirloom->hold, lock->hold + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&listing);
}

void heir_forget(int hold)
{
	pthread_mutex_lock(&listing);
	POINT("heir.listing");
	for (unsigned i = 0; i < HOLDS; i++)
		if (heirlooms[i].hold == hold + 1)
			__atomic_store_n(&heirlooms[i].hold, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&listing);
}
