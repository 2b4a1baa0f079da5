/*
 * A folder whose parent is missing, that is a file, a dangling link, read-only or closed to us, is
 * refused with its path, the reason and the way out. A link to a good folder is good. A lock file
 * that is a link or a FIFO is not followed: the join is refused.
 */
#include "proc_helper.h"

#include <grp.h>
#include <sys/mount.h>

static void refused(const char *what, const char *dir, int want)
{
	char why[SEGMENT_WHY];
	struct segment segment;
	const int rc = segment_open(&segment, dir, TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why);

	if (rc != want)
		FAIL("%s: %d, want %d (%s)", what, rc, want, why);
	if (!why[0] || (strlen(dir) < 200 && !strstr(why, dir)))
		FAIL("%s: the reason does not name %s: \"%s\"", what, dir, why);
	if (!strstr(why, "CUQUOTA_DIR"))
		FAIL("%s: the reason names no way out: \"%s\"", what, why);
}

static char path[4][400];

static const char *below(int i, const char *name)
{
	snprintf(path[i], sizeof(path[i]), "%s/%s", world.folder, name);
	return path[i];
}

static void as_nobody(void)
{
	CHECK_SYS(setgroups(0, NULL));
	CHECK_SYS(setresgid(65534, 65534, 65534));
	CHECK_SYS(setresuid(65534, 65534, 65534));
}

static void lock_files(void)
{
	const struct order join = order_join("a", BYTES(GIB), 0);
	char life[512], settle[512];
	struct worker *w;
	struct answer a;

	snprintf(life, sizeof(life), "%s/%s.life.0", world.dir, world.uuid);
	snprintf(settle, sizeof(settle), "%s/%s.settle", world.dir, world.uuid);
	w = worker_start();
	CHECK_SYS(mkdir(world.dir, 01777));
	CHECK_SYS(symlink(below(0, "elsewhere"), life));
	a = worker_do(w, &join);
	CHECK_OP(a.rc, <, 0);
	CHECK(strstr(a.why, "CUQUOTA_DIR"));
	CHECK_EQ(access(below(0, "elsewhere"), F_OK), -1);
	CHECK_SYS(unlink(life));
	CHECK_SYS(mkfifo(life, 0666));
	a = worker_do(w, &join);
	CHECK_OP(a.rc, <, 0);
	CHECK_SYS(unlink(life));
	CHECK_SYS(unlink(settle));
	CHECK_SYS(symlink("/dev/null", settle));
	a = worker_do(w, &join);
	CHECK_OP(a.rc, <, 0);
	CHECK_SYS(unlink(settle));
	a = worker_do(w, &join);
	if (a.rc)
		FAIL("cannot join once the links are gone: %d, %s", a.rc, a.why);
}

int main(int argc, char **argv)
{
	char why[SEGMENT_WHY], longest[700], slashes[300];
	struct segment segment;
	int file;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(GIB), 20);
	refused("missing parent", below(0, "none/ledgers"), -ENOENT);
	file = open(below(0, "file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK_SYS(file);
	close(file);
	refused("a file", path[0], -ENOTDIR);
	CHECK_SYS(symlink(below(1, "none"), below(0, "dangling")));
	refused("a dangling link", path[0], -ENOENT);
	CHECK_SYS(symlink(below(1, "loop"), below(0, "loop")));
	refused("a loop", path[0], -ELOOP);
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	refused("a name too long", longest, -ENAMETOOLONG);

	CHECK_SYS(mkdir(below(1, "good"), 01777));
	CHECK_SYS(symlink(path[1], below(0, "link")));
	CHECK_EQ(segment_open(&segment, path[0], TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why), 0);
	segment_close(&segment);
	snprintf(slashes, sizeof(slashes), "%s/fresh//", world.folder);
	CHECK_EQ(segment_open(&segment, slashes, TEST_UUID, BYTES(GIB), SEGMENT_MEMBER, why), 0);
	segment_close(&segment);
	CHECK_EQ(segment_open(&segment, path[0], "GPU/../x", BYTES(GIB), SEGMENT_MEMBER, why),
		 -ENAMETOOLONG);

	lock_files();

	/* Read-only and closed ones, as somebody for whom modes count. */
	CHECK_SYS(mkdir(below(0, "closed"), 0700));
	CHECK_SYS(mkdir(below(1, "readonly"), 0755));
	CHECK_SYS(chmod(world.folder, 0755));
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
		CHECK_SYS(mkdir(below(2, "bound"), 0755));
		CHECK_SYS(mount(below(3, "good"), path[2], NULL, MS_BIND, NULL));
		CHECK_SYS(mount(NULL, path[2], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
		refused("a read-only mount", path[2], -EROFS);
		/* A reader needs no more. */
		CHECK_EQ(segment_open(&segment, path[2], TEST_UUID, BYTES(GIB), SEGMENT_READER,
				      why),
			 0);
		segment_close(&segment);
		CHECK_SYS(umount(path[2]));
	}
	if (geteuid() == 0) {
		const pid_t pid = fork();
		int status;

		if (!pid) {
			as_nobody();
			refused("closed to us", path[0], -EACCES);
			snprintf(why, sizeof(why), "%s/deeper", path[1]);
			refused("a parent closed to us", why, -EACCES);
			_exit(segment_open(&segment, path[1], TEST_UUID, BYTES(GIB), SEGMENT_MEMBER,
					   why) == -EACCES &&
					      strstr(why, TEST_UUID) && strstr(why, "CUQUOTA_DIR")
				      ? 0
				      : 1);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	return 0;
}
