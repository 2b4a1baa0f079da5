/*
 * A process and the child that it forked do not hold its slot by one lock, from the moment on that
 * one of the two has come through our handler of fork: the other may long wait for a processor, and
 * each may be the last to have the driver's files. One is stopped in a handler that is older than
 * ours, and so comes before it; then one lets go, closes the descriptor, or is killed, before or
 * after our handler ran in the child. As long as the other is there the slot is taken, and others
 * count its charge.
 */
#include "proc_helper.h"

#include <pthread.h>

#define LIMIT (1024 * MIB)
#define HELD (600 * MIB)

enum flag { FLAG_INSIDE, /* the child is in the older handler */
	    FLAG_GO,	 /* it may leave that */
	    FLAG_FORKED, /* it is through all handlers */
	    FLAG_CLOSE,	 /* it is to close the hold, in the handler or when forked */
	    FLAG_CLOSED,
	    FLAG_END };

enum { CALL_FORK,
       CALL_LET_GO,
       CALL_LET_GO_IN_FORK,
       CALL_LOSE_LIFE,
       CALL_KILL };

static int hold; /* what the child is to close */
static pid_t forker;
static struct life_lock *late; /* of a parent that lets go before our handler ran there */

static bool is_set(enum flag flag)
{
	return __atomic_load_n(&world.shared->note[flag], __ATOMIC_SEQ_CST);
}

static void set(enum flag flag)
{
	__atomic_store_n(&world.shared->note[flag], 1, __ATOMIC_SEQ_CST);
}

static void await(enum flag flag)
{
	const int64_t until = now_ms() + DEADLINE_MS;

	while (!is_set(flag)) {
		if (now_ms() > until)
			FAIL("flag %d was not set within %d ms", flag, DEADLINE_MS);
		usleep(1000);
	}
}

static void close_if_told(void)
{
	if (!is_set(FLAG_CLOSE) || is_set(FLAG_CLOSED))
		return;
	close(hold);
	set(FLAG_CLOSED);
}

static void before_ours_in_child(void)
{
	if (!forker)
		return;
	set(FLAG_INSIDE);
	while (!is_set(FLAG_GO) && test_lives(forker)) {
		close_if_told();
		usleep(1000);
	}
}

static void before_ours_in_parent(void)
{
	if (!late)
		return;
	await(FLAG_FORKED);
	life_release(late);
}

/* Returns when our handler has run here, and the child waits before its own or is through. */
static void fork_one(struct self *self, const struct order *o, struct answer *a)
{
	pid_t pid;

	forker = getpid();
	hold = self->member->life.hold;
	pid = fork();
	if (pid < 0) {
		a->rc = -errno;
		return;
	}
	if (!pid) {
		close(self->socket);
		set(FLAG_FORKED);
		while (!is_set(FLAG_END) && test_lives(forker)) {
			close_if_told();
			usleep(1000);
		}
		_exit(0);
	}
	await(FLAG_INSIDE);
	a->value = (uint64_t)pid;
}

/* What the kernel does when it ends this process's files, while the child still has the driver's.
 */
static void let_go(struct self *self, const struct order *o, struct answer *a)
{
	life_release(&self->member->life);
}

/* The same while our handler has run in the child only. */
static void let_go_in_fork(struct self *self, const struct order *o, struct answer *a)
{
	late = &self->member->life;
	set(FLAG_GO);
	fork_one(self, o, a);
}

/* So that only the hold tells of this process. */
static void lose_life(struct self *self, const struct order *o, struct answer *a)
{
	a->rc = munmap(self->member->life.page, 4096) ? -errno : 0;
}

static void kill_child(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t child = (pid_t)o->a;

	a->rc = kill(child, SIGKILL) || waitpid(child, NULL, 0) != child ? -errno : 0;
}

struct pair {
	struct worker *parent, *other;
	uint32_t slot;
	pid_t child;
};

static struct answer call(struct worker *w, uint32_t which, pid_t child)
{
	const struct order o = {.op = OP_CALL, .units = which, .a = (uint64_t)child};

	return worker_do(w, &o);
}

static struct pair begin(uint32_t how)
{
	struct pair p;
	struct answer a;

	world_start(BYTES(4 * GIB), 40);
	p.other = worker_joined("a", BYTES(LIMIT), 0);
	p.parent = worker_joined("a", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(p.parent, HELD), 0);
	p.slot = p.parent->slot;
	a = call(p.parent, how, 0);
	CHECK_EQ(a.rc, 0);
	p.child = (pid_t)a.value;
	return p;
}

static struct pair forked(bool through)
{
	const struct pair p = begin(CALL_FORK);

	if (through) {
		set(FLAG_GO);
		await(FLAG_FORKED);
	}
	CHECK_EQ(ledger_life(p.slot), LIFE_ALIVE);
	return p;
}

/* The slot lives by its hold alone: another's sweep leaves it, and its charge counts. */
static void is_held(const struct pair *p, const char *when)
{
	struct answer a;

	if (ledger_life(p->slot) != LIFE_GHOST)
		FAIL("%s: life of the slot is %d, want %d (ghost)", when, ledger_life(p->slot),
		     LIFE_GHOST);
	worker_units(p->other, OP_SWEEP, 0);
	a = worker_units(p->other, OP_CHARGE, HELD);
	if (a.rc != -EDQUOT || a.refusal.used != BYTES(HELD))
		FAIL("%s: a charge gave %d with %llu bytes used, want %d with %llu", when, a.rc,
		     (unsigned long long)a.refusal.used, -EDQUOT, (unsigned long long)BYTES(HELD));
}

/* Nothing of the two is left: the charge is free for others. */
static void is_over(const struct pair *p, const char *when)
{
	const int life = ledger_life(p->slot), rc = worker_charge(p->other, HELD);

	if (life != LIFE_DEAD || rc)
		FAIL("%s: life of the slot is %d, want %d (dead); a charge gave %d, want 0", when,
		     life, LIFE_DEAD, rc);
	world_end();
}

static void child_is_left(const struct pair *p, const char *when)
{
	is_held(p, when);
	worker_kill(p->parent);
	is_held(p, "killed behind that");
	CHECK_SYS(kill(p->child, SIGKILL));
	CHECK_EQ(waitpid(p->child, NULL, 0), p->child);
	is_over(p, "both ended");
}

/* What it lets go of is its own, and the child has another. */
static void parent_lets_go(bool through)
{
	const struct pair p = forked(through);

	call(p.parent, CALL_LET_GO, 0);
	child_is_left(&p, through ? "let go after the handler" : "let go before the child's");
}

static void slow_parent_lets_go(void)
{
	const struct pair p = begin(CALL_LET_GO_IN_FORK);

	child_is_left(&p, "let go before the parent's");
}

/* As a worker of a data loader lives on. Its handler runs when the parent is gone. */
static void parent_is_killed(bool through)
{
	const struct pair p = forked(through);

	worker_kill(p.parent);
	is_held(&p, through ? "parent killed after the handler" : "parent killed before it");
	set(FLAG_GO);
	await(FLAG_FORKED);
	is_held(&p, "the child is through its handlers");
	set(FLAG_END);
	CHECK_EQ(waitpid(p.child, NULL, 0), p.child);
	is_over(&p, "the child ended");
}

/* The parent has lost its life page: then its hold alone keeps the slot, until it is revived. */
static void child_ends(bool through, bool closes)
{
	const struct pair p = forked(through);

	CHECK_EQ(call(p.parent, CALL_LOSE_LIFE, 0).rc, 0);
	if (closes) {
		set(FLAG_CLOSE);
		await(FLAG_CLOSED);
		is_held(&p, through ? "closed after the handler" : "closed before the handler");
		set(FLAG_GO);
		await(FLAG_FORKED);
		is_held(&p, "the child goes on without it");
	}
	CHECK_EQ(call(p.parent, CALL_KILL, p.child).rc, 0);
	is_held(&p, through ? "child killed after the handler" : "child killed before it");
	CHECK_EQ(worker_units(p.parent, OP_REVIVE, 0).rc, 0);
	CHECK_EQ(ledger_life(p.slot), LIFE_ALIVE);
	worker_kill(p.parent);
	is_over(&p, "both ended");
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {
		[CALL_FORK] = fork_one,
		[CALL_LET_GO] = let_go,
		[CALL_LET_GO_IN_FORK] = let_go_in_fork,
		[CALL_LOSE_LIFE] = lose_life,
		[CALL_KILL] = kill_child,
	};

	/* Before the library registers its own, at the first join. */
	CHECK_EQ(pthread_atfork(NULL, before_ours_in_parent, before_ours_in_child), 0);
	workers_enter(argc, argv, calls);
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	slow_parent_lets_go();
	for (int through = 0; through < 2; through++) {
		parent_lets_go(through);
		parent_is_killed(through);
		child_ends(through, false);
		child_ends(through, true);
	}
	return 0;
}
