/*
 * For tests of several real processes on one real ledger. Owns: the world (a temporary
 * folder, a page shared by all, an outside reader of the ledger) and the workers, each a
 * fresh program (this test, executed again) that joins, charges and leaves as it is told and
 * answers with result and time.
 *
 * Promises: a worker dies with the test; nothing waits without a deadline;
 * no sleep orders anything.
 */
#ifndef TESTS_PROC_HELPER_H
#define TESTS_PROC_HELPER_H

#include "proc_ledger.h"

static void remove_folder(const char *path)
{
	DIR *const dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char below[600];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (unlink(below))
			remove_folder(below);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static void worker_end(struct worker *w)
{
	if (w->pid > 0 && !w->gone) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	if (w->socket >= 0)
		close(w->socket);
	w->gone = true;
	w->joined = false;
	w->socket = -1;
}

/* Ends all workers and removes the ledgers; the next world_start begins anew. */
TEST_USED static void world_end(void)
{
	if (world.owner != getpid())
		return;
	for (unsigned i = 0; i < world.count; i++)
		worker_end(&world.workers[i]);
	world.count = 0;
	segment_close(&world.reader);
	if (world.shared) {
		munmap(world.shared, sizeof(struct shared));
		close(world.shared_file);
		world.shared = NULL;
	}
	if (world.folder[0])
		remove_folder(world.folder);
	world.folder[0] = 0;
}

static void world_late(int signal)
{
	static const char text[] = "the test is over its own deadline\n";

	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

TEST_USED static void world_start(uint64_t device_bytes, unsigned deadline_s)
{
	const char *const above = getenv("CUQUOTA_DIR");
	static bool once;

	world.owner = getpid();
	snprintf(world.folder, sizeof(world.folder), "%.90s/cq-proc-XXXXXX",
		 above ? above : "/dev/shm");
	CHECK(mkdtemp(world.folder));
	CHECK_SYS(chmod(world.folder, 0755));
	snprintf(world.dir, sizeof(world.dir), "%s/ledgers", world.folder);
	snprintf(world.uuid, sizeof(world.uuid), "%s", TEST_UUID);
	world.device_bytes = device_bytes;
	world.shared_file = memfd_create("shared", MFD_CLOEXEC);
	CHECK_SYS(world.shared_file);
	CHECK_SYS(ftruncate(world.shared_file, sizeof(struct shared)));
	world.shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			    world.shared_file, 0);
	CHECK(world.shared != MAP_FAILED);
	world.shared->note[63] = (uint64_t)getpid();
	if (!once) {
		atexit(world_end);
		signal(SIGALRM, world_late);
		signal(SIGPIPE, SIG_IGN);
	}
	once = true;
	alarm(deadline_s * (getenv("TEST_SANITIZER") ? 3 : 1) * (test_long() ? 10 : 1));
}

/* The path of the ledger. */
TEST_USED static const char *ledger_path(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s.ledger", world.dir, world.uuid);
	return path;
}

/* A fresh program, cloned with `flags` more (CLONE_NEWPID…); `before` runs in it before exec. */
TEST_USED static struct worker *worker_start_in(unsigned long flags, void (*before)(void))
{
	struct worker *const w = &world.workers[world.count];
	char socket_text[12], index[12], file[12], bytes[24];
	const pid_t parent = getpid();
	int pair[2];

	CHECK(world.count < WORKERS);
	memset(w, 0, sizeof(*w));
	w->index = world.count++;
	world.shared->holds[w->index] = 0;
	CHECK_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	snprintf(index, sizeof(index), "%u", w->index);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)world.device_bytes);
	fflush(NULL);
	w->pid = flags ? (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0) : fork();
	CHECK_SYS(w->pid);
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!flags && getppid() != parent)
			_exit(1);
		fcntl(pair[1], F_SETFD, 0);
		fcntl(world.shared_file, F_SETFD, 0);
		snprintf(socket_text, sizeof(socket_text), "%d", pair[1]);
		snprintf(file, sizeof(file), "%d", world.shared_file);
		if (before)
			before();
		execl("/proc/self/exe", program_invocation_name, "--worker", socket_text, index,
		      file, world.dir, world.uuid, bytes, NULL);
		dprintf(2, "exec: %s\n", strerror(errno));
		_exit(127);
	}
	close(pair[1]);
	w->socket = pair[0];
	return w;
}

TEST_USED static struct worker *worker_start(void)
{
	return worker_start_in(0, NULL);
}

TEST_USED static void worker_tell(struct worker *w, const struct order *o)
{
	if (send(w->socket, o, sizeof(*o), MSG_NOSIGNAL) != sizeof(*o))
		FAIL("worker %u (pid %d) takes no order: %s", w->index, (int)w->pid,
		     strerror(errno));
}

enum heard { HEARD,
	     HEARD_STOPPED,
	     HEARD_DEAD };

/* What became of the last order. */
TEST_USED static int worker_hear(struct worker *w, struct answer *a)
{
	const int64_t until = now_ms() + ANSWER_MS;

	for (;;) {
		struct pollfd p = {.fd = w->socket, .events = POLLIN};
		int status;

		if (poll(&p, 1, 1) == 1 &&
		    recv(w->socket, a, sizeof(*a), MSG_DONTWAIT) == sizeof(*a))
			return HEARD;
		if (waitpid(w->pid, &status, WNOHANG | WUNTRACED) == w->pid) {
			if (WIFSTOPPED(status))
				return HEARD_STOPPED;
			w->gone = true;
			w->joined = false;
			return HEARD_DEAD;
		}
		if (now_ms() > until)
			FAIL("worker %u (pid %d) gave no answer within %d ms", w->index,
			     (int)w->pid, ANSWER_MS);
	}
}

/* Tell and hear; the worker must live. */
TEST_USED static struct answer worker_do(struct worker *w, const struct order *o)
{
	struct answer a;
	int heard;

	worker_tell(w, o);
	heard = worker_hear(w, &a);
	if (heard != HEARD)
		FAIL("worker %u (pid %d) %s during order %d", w->index, (int)w->pid,
		     heard == HEARD_DEAD ? "died" : "stopped", o->op);
	if (o->op == OP_JOIN && !a.rc) {
		w->joined = true;
		w->slot = a.slot;
		w->gen = a.gen;
		w->tenant = a.tenant;
	}
	if (o->op == OP_LEAVE)
		w->joined = false;
	return a;
}

TEST_USED static struct order order_join(const char *tenant, uint64_t limit, uint64_t request)
{
	struct order o = {.op = OP_JOIN,
			  .limit = limit,
			  .request = request,
			  .keep_ns = 600000 * MS};

	snprintf(o.name, sizeof(o.name), "%s", tenant);
	return o;
}

TEST_USED static struct order order_units(enum op op, uint32_t units)
{
	struct order o = {.op = op, .units = units};

	return o;
}

TEST_USED static int worker_join(struct worker *w, const char *tenant, uint64_t limit,
				 uint64_t request)
{
	const struct order o = order_join(tenant, limit, request);
	const struct answer a = worker_do(w, &o);

	if (a.rc)
		fprintf(stderr, "(join of %s: %d, %s)\n", tenant, a.rc, a.why);
	return a.rc;
}

TEST_USED static struct answer worker_units(struct worker *w, enum op op, uint32_t units)
{
	const struct order o = order_units(op, units);

	return worker_do(w, &o);
}

TEST_USED static int worker_charge(struct worker *w, uint32_t units)
{
	return worker_units(w, OP_CHARGE, units).rc;
}

TEST_USED static void worker_refund(struct worker *w, uint32_t units)
{
	worker_units(w, OP_REFUND, units);
}

TEST_USED static struct worker *worker_joined(const char *tenant, uint64_t limit, uint64_t request)
{
	struct worker *const w = worker_start();

	CHECK_EQ(worker_join(w, tenant, limit, request), 0);
	return w;
}

TEST_USED static void worker_arm(struct worker *w, const char *name, uint32_t nth,
				 int signal_number)
{
	struct order o = {.op = OP_ARM, .nth = nth, .signal = signal_number};

	snprintf(o.name, sizeof(o.name), "%s", name);
	world.shared->hit = 0;
	worker_do(w, &o);
}

TEST_USED static void worker_kill(struct worker *w)
{
	CHECK_SYS(kill(w->pid, SIGKILL));
	CHECK_EQ(waitpid(w->pid, NULL, 0), w->pid);
	w->gone = true;
	w->joined = false;
	world.shared->holds[w->index] = 0;
}

/* Stops it and returns once it is stopped. */
TEST_USED static void worker_stop(struct worker *w)
{
	int status;

	CHECK_SYS(kill(w->pid, SIGSTOP));
	CHECK_EQ(waitpid(w->pid, &status, WUNTRACED), w->pid);
	CHECK(WIFSTOPPED(status));
}

TEST_USED static void worker_go_on(struct worker *w)
{
	CHECK_SYS(kill(w->pid, SIGCONT));
}

/* A call of a worker: forks a child that ends when told by a flag in the shared page; value: its
 * pid. */
TEST_USED static void fork_waiter(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		a->rc = -errno;
		return;
	}
	if (!pid) {
		/* As a worker of a data loader: it outlives its parent and
		 * never touches the ledger. */
		close(self->socket);
		while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST) &&
		       test_lives(parent))
			usleep(1000);
		_exit(0);
	}
	a->value = (uint64_t)pid;
}

#endif
