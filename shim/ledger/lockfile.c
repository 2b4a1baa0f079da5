/*
 * Lock files: making, opening, locking. See lockfile.h.
 */
#include "ledger/lockfile.h"
#include "base/point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int lockfile_lock(int file, off_t byte, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	if (fcntl(file, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int lockfile_is_locked(int file, off_t byte)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	if (fcntl(file, F_OFD_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}

/*
 * Make a lock file nameless, open to everybody, and give it its name when it is so: a maker that is
 * stopped or killed shuts nobody out. Where that cannot be (no O_TMPFILE, no /proc) under its name
 * at once. 0 when it is there, by us or another; -errno.
 */
static int make_lock_file(const char *path)
{
	char name[64], folder[SEGMENT_PATH + LOCKFILE_SUFFIX];
	int file, rc;

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0) {
		POINT("life.file_made");
		snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
		rc = fchmod(file, 0666) || linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW)
			     ? -errno
			     : 0;
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

/* Without O_CREAT: in a sticky folder it is refused on another user's file
 * (fs.protected_regular). */
int lockfile_open(const struct segment *segment, const char *suffix)
{
	char path[SEGMENT_PATH + LOCKFILE_SUFFIX];

	snprintf(path, sizeof(path), "%s.%s", segment->path, suffix);
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

void lockfile_unlock_all(int file)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	fcntl(file, F_OFD_SETLK, &all);
}
