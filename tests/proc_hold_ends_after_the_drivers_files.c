/*
 * A process and the child that it just forked are killed, the child before our handler of fork ran
 * there, and the child's end takes longer: it has closed its hold and not yet the driver's file
 * when the parent is gone. Until the kernel ends that file the slot is not free.
 *
 * The child's end is slow by descriptors between the two: closing each, the kernel looks for locks
 * of the process among the many that the test has on the file behind them.
 */
#include "proc_helper.h"

#include <pthread.h>

#define BETWEEN 800 /* descriptors, within the usual 1,024; with LOCKS 10 ms and more */
#define LOCKS 4000
#define ROUNDS 20 /* until the child's end was seen to be the later one */

static pid_t forker;
static int hold;

static const char *beside(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", world.dir, name);
	return path;
}

static int open_beside(const char *name, int flags)
{
	const char *const path = beside(name);
	const int file = open(path, flags | O_CLOEXEC, 0600);

	if (file < 0)
		FAIL("%s: %s", path, strerror(errno));
	return file;
}

/* Comes before ours, which is registered later: that never runs in the child. */
static void before_ours(void)
{
	int slow;

	if (!forker)
		return;
	slow = open_beside("slow", O_RDWR);
	for (unsigned i = 0; i < BETWEEN; i++)
		CHECK_SYS(fcntl(slow, F_DUPFD_CLOEXEC, hold + 1));
	__atomic_store_n(&world.shared->go, 1, __ATOMIC_SEQ_CST);
	while (test_lives(forker))
		usleep(1000);
	_exit(0);
}

static void fork_one(struct self *self, const struct order *o, struct answer *a)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	const int driver = open_beside("driver", O_WRONLY);
	pid_t pid;

	CHECK_SYS(fcntl(driver, F_DUPFD_CLOEXEC, BETWEEN + 100));
	close(driver);
	hold = self->member->life.hold;
	forker = getpid();
	pid = fork();
	CHECK_SYS(pid);
	while (!__atomic_load_n(&world.shared->go, __ATOMIC_SEQ_CST)) {
		CHECK_LE(now_ms(), until);
		usleep(1000);
	}
	a->value = (uint64_t)pid;
}

/* Returns when its end has come to its files, of which the hold is among the first. */
static void kill_child(pid_t child)
{
	const int64_t until = now_ms() + DEADLINE_MS;
	char path[64], to[8];

	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)child);
	CHECK_SYS(kill(child, SIGKILL));
	while (readlink(path, to, sizeof(to)) > 0)
		CHECK_LE(now_ms(), until);
}

static void make_slow_file(void)
{
	const int slow = open_beside("slow", O_RDWR | O_CREAT);

	/* Backwards, so that each is the first in the kernel's list. The file stays open. */
	for (int i = LOCKS; i; i--) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		lock.l_start = 2 * i;
		lock.l_len = 1;
		CHECK_SYS(fcntl(slow, F_OFD_SETLK, &lock));
	}
}

/* How often the slot was seen while the driver's file was open behind the parent's end. */
static unsigned round_of_deaths(int driver)
{
	const struct order call = {.op = OP_CALL, .units = 0};
	struct worker *const parent = worker_joined("a", BYTES(1024 * MIB), 0);
	const int64_t until = now_ms() + DEADLINE_MS;
	struct pollfd file = {.fd = driver, .events = POLLIN};
	unsigned seen = 0;
	pid_t child;

	CHECK_EQ(worker_charge(parent, 600 * MIB), 0);
	world.shared->go = 0;
	child = (pid_t)worker_do(parent, &call).value;
	kill_child(child);
	worker_kill(parent);
	for (;;) {
		const int life = ledger_life(parent->slot), ended = poll(&file, 1, 0);

		if (ended)
			break;
		if (life == LIFE_DEAD)
			FAIL("the slot is free and the driver's file is not, at look %u", seen);
		seen++;
		CHECK_LE(now_ms(), until);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(ledger_life(parent->slot), LIFE_DEAD);
	return seen;
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {fork_one};
	struct worker *other;
	unsigned seen = 0;

	/* Before the library registers its own, at the first join. */
	CHECK_EQ(pthread_atfork(NULL, NULL, before_ours), 0);
	workers_enter(argc, argv, calls);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	world_start(BYTES(4 * GIB), 60);
	other = worker_joined("a", BYTES(1024 * MIB), 0);
	make_slow_file();
	CHECK_SYS(mkfifo(beside("driver"), 0600));
	for (unsigned i = 0; i < ROUNDS && !seen; i++) {
		const int driver = open_beside("driver", O_RDONLY | O_NONBLOCK);

		seen = round_of_deaths(driver);
		close(driver);
	}
	if (!seen)
		FAIL("of %d pairs the child's end was never seen to be the later one", ROUNDS);
	CHECK_EQ(worker_charge(other, 1024 * MIB), 0);
	return 0;
}
