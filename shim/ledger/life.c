/*
 * Locks that tell who lives. See life.h.
 *
 * Testing a lock is linear in the locks of its file, hence files of 64 slots (at 1,000 locks in one
 * file a test costs 6 µs).
 */
#include "ledger/life.h"
#include "base/point.h"
#include "ledger/heir.h"
#include "ledger/lockfile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GROUP 64u
#define LIFE_BYTE(slot) ((off_t)((slot) % GROUP))
#define PAGE 4096u	/* mapped length; any length carries the lock */
#define LOWEST 0x10000u /* vm.mmap_min_addr as kernels come */
#define LOW_PAGES 64u
#define SETTLE_BYTE 0 /* of the file ".settle" */
#define LEARN_BYTE 1
#define HOLD_BYTE(slot) ((off_t)(GROUP + (slot) % GROUP))

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; older kernels take the address for a wish */
#endif

static int open_group_file(const struct segment *segment, uint32_t group)
{
	char suffix[LOCKFILE_SUFFIX];

	snprintf(suffix, sizeof(suffix), "life.%u", group);
	return lockfile_open(segment, suffix);
}

/*
 * At the lowest address to be had: at death the kernel puts mappings down from there on and ends
 * them last in, first out, and life must end after the driver's mappings.
 */
static int map_low(int file, void **page)
{
	int rc;

	*page = MAP_FAILED;
	for (uintptr_t at = LOWEST; at < LOWEST + LOW_PAGES * PAGE && *page == MAP_FAILED;
	     at += PAGE)
		*page = mmap((void *)at, PAGE, PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
			     0);
	if (*page == MAP_FAILED)
		*page = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);
	if (*page != MAP_FAILED && madvise(*page, PAGE, MADV_DONTFORK) == 0)
		return 0;
	rc = -errno;
	if (*page != MAP_FAILED)
		munmap(*page, PAGE);
	*page = NULL;
	return rc;
}

/*
 * The mapping is what carries the lock after the descriptor is closed. A fork by another thread
 * between open and madvise would give the child a share of it: the slot then counts as alive until
 * that child ends or execs, which errs towards keeping the charge.
 */
static int take_life(const struct segment *segment, uint32_t slot, void **page)
{
	int file = open_group_file(segment, slot / GROUP);
	int rc;

	if (file < 0)
		return file;
	rc = lockfile_lock(file, LIFE_BYTE(slot), F_WRLCK);
	if (!rc) {
		POINT("life.locked");
		rc = map_low(file, page);
	}
	close(file);
	return rc;
}

/* Taken alone, then made one that heirs can share. */
static int take_hold(const struct segment *segment, uint32_t slot, int reserved,
		     struct life_lock *lock)
{
	struct stat stat_now;
	int file = open_group_file(segment, slot / GROUP);
	int rc;

	if (file < 0)
		return file;
	rc = lockfile_lock(file, HOLD_BYTE(slot), F_WRLCK);
	if (!rc)
		rc = lockfile_lock(file, HOLD_BYTE(slot), F_RDLCK);
	if (!rc && fstat(file, &stat_now))
		rc = -errno;
	if (!rc && reserved >= 0 && dup3(file, reserved, O_CLOEXEC) < 0)
		rc = -errno;
	if (rc || reserved >= 0)
		close(file);
	if (rc)
		return rc;
	lock->hold = reserved >= 0 ? reserved : file;
	lock->device = (uint64_t)stat_now.st_dev;
	lock->inode = (uint64_t)stat_now.st_ino;
	return 0;
}

int life_take(const struct segment *segment, uint32_t slot, int reserved, struct life_lock *lock)
{
	int rc;

	lock->page = NULL;
	lock->hold = -1;
	rc = take_life(segment, slot, &lock->page);
	if (rc)
		return rc;
	POINT("life.life_taken");
	rc = take_hold(segment, slot, reserved, lock);
	POINT("life.hold_taken");
	if (rc)
		life_release(lock);
	else
		heir_leave(segment, lock, slot / GROUP, HOLD_BYTE(slot));
	return rc;
}

int life_revive(const struct segment *segment, uint32_t slot, struct life_lock *lock)
{
	/* The old mapping is gone or no longer ours: forget the address, another may live there
	 * now. */
	lock->page = NULL;
	return take_life(segment, slot, &lock->page);
}

void life_release(struct life_lock *lock)
{
	struct stat stat_now;

	/* Unlocked, not only closed: a child may share the descriptor, and the slot is free from
	 * now on. */
	if (lock->hold >= 0 && !fstat(lock->hold, &stat_now) &&
	    (uint64_t)stat_now.st_dev == lock->device && (uint64_t)stat_now.st_ino == lock->inode) {
		heir_forget(lock->hold);
		lockfile_unlock_all(lock->hold);
		close(lock->hold);
	}
	lock->hold = -1;
	POINT("life.hold_released");
	if (lock->page)
		munmap(lock->page, PAGE);
	lock->page = NULL;
}

void life_disown(const struct segment *segment, int descriptor)
{
	char path[SEGMENT_PATH + 32];
	struct stat here, there;

	if (descriptor < 0 || fstat(descriptor, &here))
		return;
	for (uint32_t group = 0; group * GROUP < segment->member_count; group++) {
		snprintf(path, sizeof(path), "%s.life.%u", segment->path, group);
		if (stat(path, &there))
			continue;
		if (here.st_dev == there.st_dev && here.st_ino == there.st_ino) {
			heir_forget(descriptor);
			close(descriptor);
			return;
		}
	}
}

static int open_group(const struct segment *segment, struct life_file *file, uint32_t slot)
{
	uint32_t group = slot / GROUP;

	if (file->descriptor >= 0 && file->group == group)
		return 0;
	life_close(file);
	file->descriptor = open_group_file(segment, group);
	file->group = group;
	if (file->descriptor < 0) {
		int rc = file->descriptor;

		file->descriptor = -1;
		return rc;
	}
	return 0;
}

enum life life_test(const struct segment *segment, struct life_file *file, uint32_t slot)
{
	int life, hold, rc = open_group(segment, file, slot);

	/* No file, no locks. Only a reader finds it missing. */
	if (rc)
		return rc == -ENOENT ? LIFE_DEAD : LIFE_ALIVE;
	life = lockfile_is_locked(file->descriptor, LIFE_BYTE(slot));
	if (life)
		return LIFE_ALIVE;
	hold = lockfile_is_locked(file->descriptor, HOLD_BYTE(slot));
	return hold ? LIFE_GHOST : LIFE_DEAD;
}

int life_claim(const struct segment *segment, struct life_file *file, uint32_t slot)
{
	int rc = open_group(segment, file, slot);

	if (rc)
		return rc;
	rc = lockfile_lock(file->descriptor, LIFE_BYTE(slot), F_WRLCK);
	if (rc)
		return rc;
	POINT("life.claim_life");
	rc = lockfile_lock(file->descriptor, HOLD_BYTE(slot), F_WRLCK);
	if (rc)
		lockfile_lock(file->descriptor, LIFE_BYTE(slot), F_UNLCK);
	return rc;
}

/* Unlocked by name, not by closing: a fork by another thread meanwhile must not keep the bytes. */
void life_unclaim(struct life_file *file, uint32_t slot)
{
	if (file->descriptor < 0)
		return;
	lockfile_lock(file->descriptor, HOLD_BYTE(slot), F_UNLCK);
	POINT("life.unclaim_life");
	lockfile_lock(file->descriptor, LIFE_BYTE(slot), F_UNLCK);
}

void life_close(struct life_file *file)
{
	if (file->descriptor >= 0)
		close(file->descriptor);
	file->descriptor = -1;
}

int life_settle(const struct segment *segment, uint32_t limit_ms)
{
	const struct timespec nap = {0, 1000000};
	uint64_t until = segment_now_ns() + limit_ms * 1000000ull;
	int file = lockfile_open(segment, "settle");
	int rc;

	if (file < 0)
		return file;
	/* Polled: a waiting lock call could not be bounded without a signal. */
	while ((rc = lockfile_lock(file, SETTLE_BYTE, F_WRLCK)) == -EAGAIN &&
	       segment_now_ns() < until) {
		POINT("life.settle_busy");
		nanosleep(&nap, NULL);
	}
	if (rc) {
		close(file);
		return rc == -EAGAIN ? -EBUSY : rc;
	}
	POINT("life.settling");
	return file;
}

int life_learn(const struct segment *segment)
{
	const int file = lockfile_open(segment, "settle");
	int rc;

	if (file < 0)
		return file;
	rc = lockfile_lock(file, LEARN_BYTE, F_WRLCK);
	if (!rc)
		return file;
	close(file);
	return rc;
}

void life_settled(int descriptor)
{
	if (descriptor < 0)
		return;
	lockfile_unlock_all(descriptor);
	close(descriptor);
}
