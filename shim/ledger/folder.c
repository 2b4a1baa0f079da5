/*
 * Where ledgers may lie. See folder.h.
 */
#include "ledger/folder.h"
#include "base/point.h"
#include "ledger/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RENAME_ONLY_NEW 1 /* RENAME_NOREPLACE, which older headers do not name */

/* File systems on which shared mappings, futexes and OFD locks are those of one machine. */
static const struct {
	unsigned long magic;
	const char *name;
	bool suitable;
} file_systems[] = {
	{0x01021994, "tmpfs", true},
	{0xef53, "ext4", true},
	{0x58465342, "xfs", true},
	{0x9123683e, "btrfs", true},
	{0x794c7630, "overlayfs", false},
	{0x6969, "nfs", false},
	{0x01021997, "9p", false},
	{0x65735546, "fuse", false},
	{0x858458f6, "ramfs", false},
	{0xff534d42, "cifs", false},
	{0xfe534d42, "smb2", false},
	{0x5346414f, "afs", false},
	{0x00c36400, "ceph", false},
	{0x0bd00bd0, "lustre", false},
	{0x47504653, "gpfs", false},
	{0x2fc12fc1, "zfs", false},
	{0x6a656a63, "virtiofs", false},
	{0x9fa0, "proc", false},
	{0x62656572, "sysfs", false},
	{0x4d44, "vfat", false},
};

int folder_suits(int descriptor, const char *dir, char why[SEGMENT_WHY])
{
	struct statfs fs;

	if (fstatfs(descriptor, &fs))
		return why_path(why, "tell the file system of", dir, "", -errno, "");
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
		if (file_systems[i].magic != ((unsigned long)fs.f_type & 0xffffffffu))
			continue;
		if (file_systems[i].suitable)
			return 0;
		snprintf(why, SEGMENT_WHY,
			 "%s lies on %s, which cannot hold a ledger: set CUQUOTA_DIR to a folder "
			 "on tmpfs, ext4, xfs or btrfs",
			 dir, file_systems[i].name);
		return -EMEDIUMTYPE;
	}
	snprintf(why, SEGMENT_WHY,
		 "%s lies on a file system of unknown kind 0x%lx: set CUQUOTA_DIR to a folder on "
		 "tmpfs, ext4, xfs or btrfs",
		 dir, (unsigned long)fs.f_type & 0xffffffffu);
	return -EMEDIUMTYPE;
}

/*
 * The folder is made under another name and moved into place when its mode is right: who finds it
 * may use it, whoever was stopped or killed while making it. The loser of a race uses the winner's.
 */
static int make_folder(const char *dir)
{
	char made[SEGMENT_PATH + 48];
	int length = (int)strlen(dir), rc = 0;

	while (length > 1 && dir[length - 1] == '/')
		length--;
	snprintf(made, sizeof(made), "%.*s.new-%llx-%d", length, dir,
		 (unsigned long long)segment_now_ns(), (int)getpid());
	if (mkdir(made, 0700))
		return -errno;
	POINT("segment.folder_made");
	if (chmod(made, 01777) ||
	    syscall(SYS_renameat2, AT_FDCWD, made, AT_FDCWD, dir, RENAME_ONLY_NEW))
		rc = -errno;
	/* an old kernel: of two makers at once one is refused */
	if (rc == -EINVAL || rc == -ENOSYS)
		rc = rename(made, dir) ? -errno : 0;
	POINT("segment.folder_named");
	if (rc)
		rmdir(made);
	return rc == -EEXIST ? 0 : rc;
}

int folder_open(const char *dir, enum segment_access access, char why[SEGMENT_WHY])
{
	int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = folder < 0 ? -errno : 0;

	if (rc == -ENOENT && access == SEGMENT_MEMBER) {
		rc = make_folder(dir);
		if (!rc) {
			folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			rc = folder < 0 ? -errno : 0;
		}
	}
	return rc ? why_path(why, "open the ledger folder", dir, "", rc, "make it (mode 1777) or ")
		  : folder;
}
