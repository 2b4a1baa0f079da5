/*
 * Ledgers lie on tmpfs, ext4, xfs or btrfs. On ramfs, an overlay or /proc the opening is refused
 * with the folder, the file system's name and the way out, and nothing is made there. In a mount
 * namespace of its own.
 */
#include "proc_helper.h"

#include <sys/mount.h>

static void write_file(const char *path, const char *text)
{
	const int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file >= 0 && write(file, text, strlen(text)) < 0)
		errno = 0;
	close(file);
}

static bool own_mounts(void)
{
	char map[64];
	const unsigned uid = geteuid(), gid = getegid();

	if (uid == 0) {
		if (unshare(CLONE_NEWNS))
			return false;
	} else {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return false;
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		write_file("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", gid);
		write_file("/proc/self/gid_map", map);
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void refused(const char *dir, const char *name)
{
	char why[SEGMENT_WHY];
	struct segment segment;
	struct dirent *e;
	DIR *d;
	const int rc = segment_open(&segment, dir, TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why);

	if (rc != -EMEDIUMTYPE)
		FAIL("%s on %s: %d (%s)", dir, name, rc, why);
	if (!strstr(why, dir) || !strstr(why, name) || !strstr(why, "CUQUOTA_DIR") ||
	    !strstr(why, "tmpfs"))
		FAIL("the reason does not name folder, file system and way out: \"%s\"", why);
	if (!strcmp(name, "proc"))
		return;
	d = opendir(dir);
	CHECK(d);
	while ((e = readdir(d)))
		if (strstr(e->d_name, TEST_UUID))
			FAIL("%s was made in %s", e->d_name, dir);
	closedir(d);
}

int main(int argc, char **argv)
{
	char ram[256], lower[256], upper[256], work_dir[256], merged[256], options[1024];
	char why[SEGMENT_WHY];
	struct segment segment;

	workers_enter(argc, argv, NULL);
	refused("/proc/self", "proc");
	if (!own_mounts())
		SKIP("no mount namespace to be had");
	world_start(BYTES(GIB), 20);
	snprintf(ram, sizeof(ram), "%s/ram", world.folder);
	CHECK_SYS(mkdir(ram, 0755));
	CHECK_SYS(mount("ramfs", ram, "ramfs", 0, NULL));
	refused(ram, "ramfs");
	/* A folder that is not there yet lies on it just as well. */
	strcat(ram, "/deeper");
	refused(ram, "ramfs");
	ram[strlen(ram) - strlen("/deeper")] = 0;

	/* Of one tmpfs for all its parts, whatever the test's own folder lies on. */
	snprintf(merged, sizeof(merged), "%s/parts", world.folder);
	CHECK_SYS(mkdir(merged, 0755));
	CHECK_SYS(mount("tmpfs", merged, "tmpfs", 0, NULL));
	snprintf(lower, sizeof(lower), "%s/parts/lower", world.folder);
	snprintf(upper, sizeof(upper), "%s/parts/upper", world.folder);
	snprintf(work_dir, sizeof(work_dir), "%s/parts/work", world.folder);
	CHECK_EQ(segment_open(&segment, lower, TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why), 0);
	segment_close(&segment);
	CHECK_SYS(mkdir(upper, 0755));
	CHECK_SYS(mkdir(work_dir, 0755));
	snprintf(merged, sizeof(merged), "%s/merged", world.folder);
	CHECK_SYS(mkdir(merged, 0755));
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper,
		 work_dir);
	if (mount("overlay", merged, "overlay", 0, options) == 0) {
		/* Through it a good ledger is seen, and yet not the same file as everybody's. */
		CHECK_EQ(segment_open(&segment, merged, TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why),
			 -EMEDIUMTYPE);
		CHECK(strstr(why, "overlay"));
		CHECK_SYS(umount(merged));
	} else {
		printf("no overlay here: %s\n", strerror(errno));
	}
	snprintf(merged, sizeof(merged), "%s/parts", world.folder);
	CHECK_SYS(umount(merged));
	CHECK_SYS(umount(ram));
	return 0;
}
