/*
 * Whoever comes first makes folder and files, whatever its umask: folder 1777, ledger and lock
 * files 0666. Where it is root, another user then joins, shares the limit and gives back at its
 * death; and one that is killed or stopped at any point of the making shuts no other user out.
 */
#include "proc_helper.h"

#include <grp.h>

static void strict_umask(void)
{
	umask(077);
}

static void as_nobody(void)
{
	CHECK_SYS(setgroups(0, NULL));
	CHECK_SYS(setresgid(65534, 65534, 65534));
	CHECK_SYS(setresuid(65534, 65534, 65534));
}

static void modes(void)
{
	DIR *const dir = opendir(world.dir);
	struct dirent *e;
	struct stat s;
	int files = 0;

	CHECK(dir);
	CHECK_SYS(stat(world.dir, &s));
	CHECK_EQ(s.st_mode & 07777, 01777u);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		CHECK_SYS(fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW));
		if (!S_ISREG(s.st_mode) || (s.st_mode & 07777) != 0666)
			FAIL("%s has mode %o", e->d_name, s.st_mode);
		files++;
	}
	closedir(dir);
	/* The ledger, one file of lives, the settle file. */
	CHECK_EQ(files, 3);
}

static void two_users(void)
{
	struct worker *root, *user;

	world_start(BYTES(4 * GIB), 20);
	root = worker_start_in(0, strict_umask);
	CHECK_EQ(worker_join(root, "a", BYTES(GIB), 0), 0);
	modes();
	CHECK_EQ(worker_charge(root, 600 * MIB), 0);
	if (geteuid() == 0) {
		user = worker_start_in(0, as_nobody);
		CHECK_EQ(worker_join(user, "a", BYTES(GIB), 0), 0);
		CHECK_EQ(worker_charge(user, 600 * MIB), -EDQUOT);
		worker_kill(root);
		CHECK_EQ(worker_charge(user, GIB), 0);
		ledger_is_true("after root's death");
		root = worker_joined("a", BYTES(GIB), 0);
		worker_kill(user);
		CHECK_EQ(worker_charge(root, GIB), 0);
		ledger_is_true("after the user's death");
	}
	world_end();
}

static void interrupted(const char *name, uint32_t nth, int signal_number)
{
	const struct order join = order_join("a", BYTES(GIB), 0),
			   late = order_join("b", BYTES(GIB), 0);
	struct worker *first, *user;
	struct answer a;
	int heard;

	in_context("first process gets signal %d at %s (%u)", signal_number, name, nth);
	world_start(BYTES(4 * GIB), 30);
	CHECK_SYS(chmod(world.folder, 0777));
	first = worker_start_in(0, strict_umask);
	worker_arm(first, name, nth, signal_number);
	worker_tell(first, &join);
	heard = worker_hear(first, &a);
	CHECK_EQ(heard, signal_number == SIGKILL ? HEARD_DEAD : HEARD_STOPPED);
	user = worker_start_in(0, as_nobody);
	a = worker_do(user, &late);
	if (a.rc)
		FAIL("another user cannot join: %d, %s", a.rc, a.why);
	CHECK_EQ(worker_charge(user, GIB), 0);
	if (signal_number == SIGSTOP) {
		worker_go_on(first);
		CHECK_EQ(worker_hear(first, &a), HEARD);
		if (a.rc)
			FAIL("the first cannot join in the end: %d, %s", a.rc, a.why);
	}
	CHECK_EQ(ledger_used_slots(), signal_number == SIGSTOP ? 2u : 1u);
	world_end();
	in_context("%s", "");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint32_t nth;
	} points[] = {
		{"segment.folder_made", 1},
		{"segment.folder_named", 1},
		{"segment.made", 1},
		{"segment.filled", 1},
		{"segment.linked", 1},
		{"life.file_made", 1},
		{"life.file_made", 2},
	};

	workers_enter(argc, argv, NULL);
	two_users();
	if (geteuid() != 0)
		return 0;
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		interrupted(points[i].name, points[i].nth, SIGKILL);
		/* Stopped with the settle byte in hand it holds up whoever changes rules: another
		 * test's matter. */
		if (strcmp(points[i].name, "life.file_made") || points[i].nth == 1)
			interrupted(points[i].name, points[i].nth, SIGSTOP);
	}
	return 0;
}
