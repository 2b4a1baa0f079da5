/*
 * Locks that tell who lives. See life.h.
 *
 * Open file description locks: they belong to the open file, not to the process, so a mapping alone can carry one,
 * a forked child shares one, and closing another descriptor of the same file does not drop it. Testing one is linear
 * in the locks of a file, hence files of 64 slots (at 1,000 locks in one file a test costs 6 µs).
 */
#include "ledger/life.h"
#include "base/point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GROUP 64u
#define LIFE_BYTE(slot) ((off_t)((slot) % GROUP))
#define HOLD_BYTE(slot) ((off_t)(GROUP + (slot) % GROUP))
#define PAGE 4096u /* mapped length; any length carries the lock */

static int lock_byte(int file, off_t byte, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	if (fcntl(file, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

/* 1 taken by another open file, 0 free, -errno. */
static int is_locked(int file, off_t byte)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	if (fcntl(file, F_OFD_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}

/*
 * Make a lock file nameless, open to everybody, and give it its name when it is so: a maker that is stopped or killed
 * shuts nobody out. Where that cannot be (no O_TMPFILE, no /proc) under its name at once. 0 when it is there, by us or
 * another; -errno.
 */
static int make_lock_file(const char *path)
{
	char name[64], folder[SEGMENT_PATH + 32];
	int file, rc;

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0) {
		POINT("life.file_made");
		snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
		rc = fchmod(file, 0666) || linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
		close(file);
		if (!rc || rc == -EEXIST)
			return 0;
	}
	/* 0666 by fchmod, since the umask eats the mode of open. */
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return errno == EEXIST ? 0 : -errno;
	rc = fchmod(file, 0666) ? -errno : 0;
	close(file);
	return rc;
}

/*
 * Open a lock file beside the ledger; a member makes it if need be, a reader changes nothing. Without O_CREAT: in a
 * sticky folder it is refused on another user's file (fs.protected_regular).
 */
static int open_lock_file(const struct segment *segment, const char *suffix, uint32_t group)
{
	char path[SEGMENT_PATH + 32];

	if (suffix)
		snprintf(path, sizeof(path), "%s.%s", segment->path, suffix);
	else
		snprintf(path, sizeof(path), "%s.life.%u", segment->path, group);
	for (int attempt = 0; attempt < 3; attempt++) {
		int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;

		if (file < 0 && (errno == EACCES || errno == EROFS))
			file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (file >= 0)
			return file;
		if (errno != ENOENT || !segment->writable)
			return -errno;
		rc = make_lock_file(path);
		if (rc)
			return rc;
	}
	return -EAGAIN;
}

/*
 * The mapping is what carries the lock after the descriptor is closed. A fork by another thread between open and
 * madvise would give the child a share of it: the slot then counts as alive until that child ends or execs, which
 * errs towards keeping the charge.
 */
static int take_life(const struct segment *segment, uint32_t slot, void **page)
{
	int file = open_lock_file(segment, NULL, slot / GROUP);
	int rc;

	if (file < 0)
		return file;
	rc = lock_byte(file, LIFE_BYTE(slot), F_WRLCK);
	if (!rc) {
		POINT("life.locked");
		*page = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);
		if (*page == MAP_FAILED) {
			rc = -errno;
			*page = NULL;
		} else if (madvise(*page, PAGE, MADV_DONTFORK)) {
			rc = -errno;
			munmap(*page, PAGE);
			*page = NULL;
		}
	}
	close(file);
	return rc;
}

static int take_hold(const struct segment *segment, uint32_t slot, int reserved, struct life_lock *lock)
{
	struct stat stat_now;
	int file = open_lock_file(segment, NULL, slot / GROUP);
	int rc;

	if (file < 0)
		return file;
	rc = lock_byte(file, HOLD_BYTE(slot), F_WRLCK);
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
	return rc;
}

int life_revive(const struct segment *segment, uint32_t slot, struct life_lock *lock)
{
	/* The old mapping is gone or no longer ours: forget the address, another may live there now. */
	lock->page = NULL;
	return take_life(segment, slot, &lock->page);
}

void life_release(struct life_lock *lock)
{
	struct stat stat_now;

	/* Unlocked, not only closed: a forked child may share the descriptor, and the slot is free from now on. */
	if (lock->hold >= 0 && !fstat(lock->hold, &stat_now) && (uint64_t)stat_now.st_dev == lock->device &&
	    (uint64_t)stat_now.st_ino == lock->inode) {
		struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

		fcntl(lock->hold, F_OFD_SETLK, &all);
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
	file->descriptor = open_lock_file(segment, NULL, group);
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
	life = is_locked(file->descriptor, LIFE_BYTE(slot));
	if (life)
		return LIFE_ALIVE;
	hold = is_locked(file->descriptor, HOLD_BYTE(slot));
	return hold ? LIFE_GHOST : LIFE_DEAD;
}

int life_claim(const struct segment *segment, struct life_file *file, uint32_t slot)
{
	int rc = open_group(segment, file, slot);

	if (rc)
		return rc;
	rc = lock_byte(file->descriptor, LIFE_BYTE(slot), F_WRLCK);
	if (rc)
		return rc;
	POINT("life.claim_life");
	rc = lock_byte(file->descriptor, HOLD_BYTE(slot), F_WRLCK);
	if (rc)
		lock_byte(file->descriptor, LIFE_BYTE(slot), F_UNLCK);
	return rc;
}

/* Unlocked by name, not by closing: a fork by another thread meanwhile must not keep the bytes. */
void life_unclaim(struct life_file *file, uint32_t slot)
{
	if (file->descriptor < 0)
		return;
	lock_byte(file->descriptor, HOLD_BYTE(slot), F_UNLCK);
	POINT("life.unclaim_life");
	lock_byte(file->descriptor, LIFE_BYTE(slot), F_UNLCK);
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
	int file = open_lock_file(segment, "settle", 0);
	int rc;

	if (file < 0)
		return file;
	/* Polled: a waiting lock call could not be bounded without a signal. */
	while ((rc = lock_byte(file, 0, F_WRLCK)) == -EAGAIN && segment_now_ns() < until) {
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

void life_settled(int descriptor)
{
	if (descriptor < 0)
		return;
	lock_byte(descriptor, 0, F_UNLCK);
	close(descriptor);
}
