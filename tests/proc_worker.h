/*
 * The inside of a worker of proc_ tests: one process in a ledger that does what it is told over a
 * socket. Owns: the orders and answers, the page shared by all, the armed points, and the truth of
 * what a worker holds, kept apart from the ledger: less or equal at every instant, equal at rest.
 * Included by proc_helper.h only.
 *
 * point_reach takes the place of shim/base/point.c's, so that a point can be armed in a running
 * process and the points of one operation can be counted.
 */
#ifndef TESTS_PROC_WORKER_H
#define TESTS_PROC_WORKER_H

#include "context.h"

#include "base/point.h"
#include "ledger/account.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MIB 16u /* units of 64 KiB */
#define GIB (1024u * MIB)
#define BYTES(units) ((uint64_t)(units)*CUQUOTA_UNIT)
#define WORKERS 64
#define POINTS_MOST 512
#define ANSWER_MS 45000
#define TEST_UUID "GPU-7e570000-0000-4000-8000-000000000001"
#define MS 1000000ull

enum op {
	OP_OPEN,
	OP_JOIN,
	OP_LEAVE,
	OP_CHARGE,
	OP_REFUND,
	OP_FORCE,
	OP_FILL, /* charge pieces of `units` until one is refused; value: pieces had */
	OP_SWEEP,
	OP_ADMINISTER,
	OP_RELEASE,
	OP_CURRENT,
	OP_REVIVE,
	OP_ROOM,
	OP_LIST, /* from now on note each point passed */
	OP_ARM,	 /* at the nth passing of `name` from now: send ourselves `signal` */
	OP_CALL, /* the test's own calls[units] */
};

struct order {
	enum op op;
	uint32_t units, nth;
	int signal;
	uint64_t limit, request, keep_ns;
	uint64_t a, b; /* for the test's own calls */
	char name[CUQUOTA_NAME + 64];
};

struct answer {
	int rc;
	uint64_t ns; /* the operation alone */
	uint64_t value;
	uint32_t slot, gen, tenant;
	struct refusal refusal;
	struct tenant_outcome outcome;
	char why[SEGMENT_WHY];
};

struct passed {
	char name[48];
	uint32_t times;
};

struct shared {
	uint64_t used;		 /* what is really held, by whoever counts here; within the limit */
	uint64_t most;		 /* its maximum */
	uint64_t broken;	 /* a value that should not have been, kept for the message */
	uint32_t arrived, turn;	 /* of the barrier */
	uint32_t go, stop;	 /* flags of the test */
	uint64_t note[64];	 /* likewise */
	uint32_t hit;		 /* an armed point was reached */
	uint32_t holds[WORKERS]; /* units; written by the worker alone */
	struct passed points[POINTS_MOST];
};

struct worker {
	pid_t pid;
	int socket;
	unsigned index;
	bool joined, gone;
	uint32_t slot, gen, tenant;
};

/* In a worker: what its own calls may use. */
struct self {
	struct segment segment;
	struct member *member; /* in a page that fork wipes */
	unsigned index;
	int socket;
};
typedef void worker_call(struct self *self, const struct order *order, struct answer *answer);

static struct {
	char folder[128]; /* temporary, ours */
	char dir[160];	  /* of the ledgers, below it */
	char uuid[CUQUOTA_UUID_TEXT];
	uint64_t device_bytes;
	struct shared *shared;
	int shared_file;
	struct worker workers[WORKERS];
	unsigned count;
	struct segment reader;
	pid_t owner;
} world;

/* A small generator, so that every run is the same. */
TEST_USED static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* ---- points ---- */

static struct {
	char name[CUQUOTA_NAME + 64];
	uint32_t left; /* passings until it fires, 0 when not armed */
	int signal;    /* sent to ourselves when it fires; 0: point_call, in the thread there */
	bool listing;
} point;
static void (*point_call)(void);

/* Called at every point: widens a window that is else a few ns, or brings two into it together. */
static void (*point_each)(const char *name);

TEST_USED static void point_arm(const char *name, uint32_t nth, int signal_number)
{
	snprintf(point.name, sizeof(point.name), "%s", name);
	point.signal = signal_number;
	__atomic_store_n(&point.left, nth, __ATOMIC_SEQ_CST);
}

void point_reach(const char *name)
{
	const int kept = errno;

	if (__atomic_load_n(&point.listing, __ATOMIC_RELAXED) && world.shared) {
		for (unsigned i = 0; i < POINTS_MOST; i++) {
			struct passed *const p = &world.shared->points[i];

			if (!p->name[0])
				snprintf(p->name, sizeof(p->name), "%s", name);
			if (!strcmp(p->name, name)) {
				p->times++;
				break;
			}
		}
	}
	if (point_each)
		point_each(name);
	if (__atomic_load_n(&point.left, __ATOMIC_SEQ_CST) && !strcmp(point.name, name) &&
	    __atomic_sub_fetch(&point.left, 1, __ATOMIC_SEQ_CST) == 0) {
		__atomic_store_n(&world.shared->hit, 1, __ATOMIC_SEQ_CST);
		if (point.signal)
			syscall(SYS_kill, getpid(), point.signal);
		else
			point_call();
	}
	errno = kept;
}

/* ---- the shared page ---- */

TEST_USED static uint64_t now_ns(void)
{
	return segment_now_ns();
}

static inline void shared_most(uint64_t value)
{
	uint64_t most = __atomic_load_n(&world.shared->most, __ATOMIC_RELAXED);

	while (value > most && !__atomic_compare_exchange_n(&world.shared->most, &most, value, 0,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* After a grant, and before a refund: so `used` is never too much, and its maximum is exact. */
TEST_USED static void really_took(uint64_t units)
{
	shared_most(__atomic_add_fetch(&world.shared->used, units, __ATOMIC_SEQ_CST));
}

TEST_USED static void really_gives(uint64_t units)
{
	__atomic_fetch_sub(&world.shared->used, units, __ATOMIC_SEQ_CST);
}

/*
 * In a child that outlives its parent, a worker: the test, a subreaper that inherits it, is still
 * there. The worker's own end is no end of the test.
 */
TEST_USED static bool test_lives(pid_t worker)
{
	const pid_t now = getppid();

	return now == worker || (uint64_t)now == world.shared->note[63];
}

/* All `parties` meet. A party that dies first ends the test by its deadline. */
TEST_USED static void barrier(unsigned parties)
{
	struct shared *const s = world.shared;
	const uint32_t turn = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == parties) {
		__atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
		return;
	}
	/* Spinning first: those who are running leave within a few dozen ns of each other. */
	for (unsigned spins = 0; __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) == turn; spins++)
		if (spins > 5000)
			sched_yield();
}

/* ---- inside a worker ---- */

static void own_add(struct self *self, int64_t units)
{
	uint32_t *const holds = &world.shared->holds[self->index];

	__atomic_store_n(holds, (uint32_t)(*holds + units), __ATOMIC_SEQ_CST);
}

/* A function of its own: a charge out of credit is inline, and the sweep steps through it here. */
__attribute__((noinline)) TEST_USED static int own_charge(struct self *self, uint32_t units,
							  struct refusal *refusal)
{
	const int rc = account_charge(self->member, units, refusal);

	if (!rc)
		own_add(self, units);
	return rc;
}

TEST_USED static void own_refund(struct self *self, uint32_t units)
{
	own_add(self, -(int64_t)units);
	account_refund(self->member, units);
}

static int own_open(struct self *self, char why[SEGMENT_WHY])
{
	if (self->segment.header)
		return 0;
	return segment_open(&self->segment, world.dir, world.uuid, world.device_bytes,
			    SEGMENT_MEMBER, why);
}

static void obey(struct self *self, const struct order *o, struct answer *a,
		 worker_call *const *calls)
{
	const struct tenant_wish wish = {o->name, o->limit, o->request, o->keep_ns};

	switch (o->op) {
	case OP_OPEN:
		a->rc = own_open(self, a->why);
		break;
	case OP_JOIN:
		a->rc = own_open(self, a->why);
		if (!a->rc)
			a->rc = member_join(self->member, &self->segment, &wish, -1, &a->outcome,
					    a->why);
		if (!a->rc)
			own_add(self, -(int64_t)world.shared->holds[self->index]);
		break;
	case OP_LEAVE:
		own_add(self, -(int64_t)world.shared->holds[self->index]);
		member_leave(self->member);
		break;
	case OP_CHARGE:
		a->rc = own_charge(self, o->units, &a->refusal);
		break;
	case OP_REFUND:
		own_refund(self, o->units);
		break;
	case OP_FORCE:
		account_force(self->member, o->units);
		own_add(self, o->units);
		break;
	case OP_FILL:
		while (!(a->rc = own_charge(self, o->units, &a->refusal)))
			a->value++;
		break;
	case OP_SWEEP:
		a->rc = own_open(self, a->why);
		if (!a->rc)
			a->value = member_sweep(&self->segment, segment_now_ns(), UINT64_MAX);
		break;
	case OP_ADMINISTER:
	case OP_RELEASE:
		a->rc = own_open(self, a->why);
		if (!a->rc)
			a->rc = tenant_administer(&self->segment, &wish, o->op == OP_RELEASE);
		break;
	case OP_CURRENT:
		a->value = member_is_current(self->member);
		break;
	case OP_REVIVE:
		a->rc = member_revive(self->member);
		break;
	case OP_ROOM:
		a->value = account_room(self->member);
		break;
	case OP_LIST:
		memset(world.shared->points, 0, sizeof(world.shared->points));
		point.listing = true;
		break;
	case OP_ARM:
		point_arm(o->name, o->nth, o->signal);
		break;
	case OP_CALL:
		calls[o->units](self, o, a);
		break;
	}
}

__attribute__((noreturn)) static void work(struct self *self, worker_call *const *calls)
{
	for (;;) {
		struct answer a;
		struct order o;
		uint64_t begin;

		memset(&a, 0, sizeof(a));
		if (recv(self->socket, &o, sizeof(o), 0) != sizeof(o))
			_exit(0);
		begin = now_ns();
		obey(self, &o, &a, calls);
		a.ns = now_ns() - begin;
		a.slot = self->member->slot;
		a.gen = self->member->gen;
		a.tenant = self->member->tenant;
		if (o.op != OP_LIST && o.op != OP_ARM)
			__atomic_store_n(&point.listing, false, __ATOMIC_RELAXED);
		if (send(self->socket, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			_exit(0);
	}
}

TEST_USED static void *page_that_fork_wipes(size_t bytes)
{
	void *const page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

	CHECK(page != MAP_FAILED);
	CHECK_SYS(madvise(page, bytes, MADV_WIPEONFORK));
	return page;
}

/* First thing in main: in a worker it does not return. */
TEST_USED static void workers_enter(int argc, char **argv, worker_call *const *calls)
{
	static struct self self;

	if (argc < 8 || strcmp(argv[1], "--worker"))
		return;
	self.socket = atoi(argv[2]);
	self.index = (unsigned)atoi(argv[3]);
	world.shared_file = atoi(argv[4]);
	snprintf(world.dir, sizeof(world.dir), "%s", argv[5]);
	snprintf(world.uuid, sizeof(world.uuid), "%s", argv[6]);
	world.device_bytes = strtoull(argv[7], NULL, 10);
	world.shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			    world.shared_file, 0);
	CHECK(world.shared != MAP_FAILED);
	self.member = page_that_fork_wipes(sizeof(struct member));
	work(&self, calls);
}

#endif
