/*
 * The kill-point sweep on the ledger floor, in its shipped objects: the scenes of proc_matrix.h and
 * some that only single steps can set. Owns: those scenes, what a change of the ledger is, and
 * whose code is the ledger's: its own, and what of it is inline in the worker's own_charge.
 */
#ifndef TESTS_STEP_SWEEP_H
#define TESTS_STEP_SWEEP_H

#include "proc_matrix.h"
#include "step/places.h"

#define HELD_LOOK 16 /* slots and tenants that are compared to see a change */

enum more_traits {
	PEER_COMMITS = 4096, /* the peer has summed and is about to raise its credit */
	SAME_CREDIT = 8192,  /* `same` has idle credit */
	FORKED = 16384,	     /* the victim has a child that outlives it */
};

static const struct scene more_scenes[] = {
	{"a grow above one that commits",
	 VICTIM_HIGH | WITH_PEER | PEER_COMMITS | TIGHT,
	 CHARGE(300 * MIB),
	 .cause = REFUSED_LIMIT},
	{"a grow below one that commits",
	 WITH_PEER | PEER_COMMITS | TIGHT,
	 CHARGE(300 * MIB),
	 .cause = REFUSED_LIMIT},
	{"a refusal that takes idle credit",
	 SAME_CREDIT | TIGHT,
	 CHARGE(GIB),
	 .cause = REFUSED_LIMIT},
	{"a grow with a child", FORKED | TIGHT, CHARGE(724 * MIB)},
	{"a charge from credit with a child",
	 FORKED | WITH_CREDIT,
	 CHARGE(MIB),
	 .before = CREDIT,
	 .after = CREDIT - MIB},
	{"a refund with a child",
	 FORKED | WITH_CREDIT,
	 REFUND(100 * MIB),
	 .before = CREDIT,
	 .after = MARK},
};
#define ALL_SCENES (SCENES + sizeof(more_scenes) / sizeof(more_scenes[0]))

static const struct scene *sweep_scene(unsigned i)
{
	return i < SCENES ? &scenes[i] : &more_scenes[i - SCENES];
}

static uint64_t committing; /* where a grower raises its credit */
static pid_t child_of_victim;

#define INLINE "own_charge" /* of proc_worker.h: a charge out of credit */

/* Or what a compiler has made of it: name.constprop.0, name.cold. */
static bool is_function(const char *symbol, const char *name)
{
	const size_t length = strlen(name);

	return !strncmp(symbol, name, length) && (!symbol[length] || symbol[length] == '.');
}

static bool is_ledgers(const char *file, const char *name)
{
	static const char *const parts[] = {"account", "folder", "heir", "life", "lockfile",
					    "member", "segment", "sum", "tenant", "why"};

	if (is_function(name, INLINE))
		return true;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const size_t length = strlen(parts[i]);

		if (!strncmp(file, parts[i], length) && !strcmp(file + length, ".c"))
			return true;
		if (!*file && !strncmp(name, parts[i], length) && name[length] == '_')
			return true;
	}
	return false;
}

/* An order that does nothing: once it is answered the worker has begun, and waits for the next. */
static struct stepped sweep_begin(struct worker *w)
{
	worker_arm(w, "", 0, 0);
	return step_begin(w->pid, step_bias(w->pid, "/proc/self/exe"));
}

static bool has_answered(const struct worker *w)
{
	struct answer a;

	return recv(w->socket, &a, sizeof(a), MSG_PEEK | MSG_DONTWAIT) > 0;
}

static bool peer_has_answered(void *peer)
{
	return has_answered(peer);
}

/* ---- peers and children ---- */

/* Steps the peer until it has announced. */
static void stop_announced(struct worker *peer, const struct order *grow)
{
	const struct cuquota_slot *const slot = segment_slot(ledger(), peer->slot);
	const struct stepped s = sweep_begin(peer);

	worker_tell(peer, grow);
	while (!__atomic_load_n(&slot->pending, __ATOMIC_SEQ_CST))
		CHECK(step_once(&s));
	step_stop(&s);
}

/* Later, when nobody joins any more: else the new rules void what it is granted. */
static struct order later;
static void stop_later(struct worker *peer, const struct order *grow)
{
	later = *grow;
}

static void stop_committing(struct worker *peer)
{
	const struct stepped s = sweep_begin(peer);

	worker_tell(peer, &later);
	CHECK(step_to(&s, committing, 1, peer_has_answered, peer));
	step_stop(&s);
}

/* Which instruction raises the credit: seen by its effect. */
static void find_commit(void)
{
	const struct order grow = order_units(OP_CHARGE, MIB);
	const struct cuquota_slot *slot;
	struct worker *w;
	struct stepped s;

	world_start(BYTES(4 * GIB), 30);
	w = worker_joined("a", BYTES(LIMIT), 0);
	slot = segment_slot(ledger(), w->slot);
	s = sweep_begin(w);
	worker_tell(w, &grow);
	while (!CUQUOTA_CREDIT(__atomic_load_n(&slot->word, __ATOMIC_SEQ_CST))) {
		committing = step_pc(&s);
		CHECK(step_once(&s));
	}
	if (!code_at(committing))
		FAIL("credit was raised at %#llx, outside the ledger's code",
		     (unsigned long long)committing);
	step_kill(&s);
	w->gone = true;
	world_end();
}

/* As a worker of a data loader: it outlives its parent and never touches the ledger. */
static void fork_child(struct self *self, const struct order *o, struct answer *a)
{
	const pid_t parent = getpid(), pid = fork();

	if (!pid) {
		close(self->socket);
		while (!__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST) &&
		       test_lives(parent))
			usleep(500);
		_exit(0);
	}
	a->rc = pid < 0 ? -errno : 0;
	a->value = (uint64_t)pid;
}

static worker_call *const sweep_calls[] = {unmap_life, fork_child};

static void sweep_set(const struct scene *s)
{
	stop_peer = s->traits & PEER_COMMITS ? stop_later : stop_announced;
	scene_set(s);
	if (s->traits & PEER_COMMITS)
		stop_committing(cast.peer);
	child_of_victim = 0;
	if (s->traits & SAME_CREDIT)
		give_credit(cast.same);
	if (s->traits & FORKED) {
		const struct answer a = worker_units(cast.victim, OP_CALL, 1);

		CHECK_EQ(a.rc, 0);
		child_of_victim = (pid_t)a.value;
	}
}

static void end_child(void)
{
	world.shared->stop = 1;
	if (child_of_victim)
		CHECK_EQ(waitpid(child_of_victim, NULL, 0), child_of_victim);
	child_of_victim = 0;
}

/* ---- a change of the ledger ---- */

/* What of the ledger is compared to see a change. */
struct look {
	struct cuquota_header header;
	struct cuquota_slot slot[HELD_LOOK];
	struct cuquota_tenant tenant[HELD_LOOK];
};

static void look_at_ledger(struct look *look)
{
	if (!world.reader.header && access(ledger_path(), F_OK))
		return;
	look->header = *ledger()->header;
	for (uint32_t i = 0; i < HELD_LOOK; i++) {
		if (i < ledger()->member_count)
			look->slot[i] = ledger_slot(i);
		if (i < ledger()->tenant_count)
			look->tenant[i] = *segment_tenant(ledger(), i);
	}
}

static bool has_changed(bool returned)
{
	static struct look looks[2];
	static unsigned turn;

	look_at_ledger(&looks[++turn % 2]);
	return memcmp(&looks[0], &looks[1], sizeof(looks[0])) != 0;
}

/* ---- for struct sweep ---- */

static unsigned traits_left_out;

static const char *scene_name(unsigned i)
{
	return sweep_scene(i)->traits & traits_left_out ? NULL : sweep_scene(i)->name;
}

static struct stepped scene_begin(unsigned i)
{
	struct stepped s;

	sweep_set(sweep_scene(i));
	s = sweep_begin(cast.victim);
	worker_tell(cast.victim, &sweep_scene(i)->op);
	return s;
}

/* How many of the places lie in a function; those around a change get the weight. */
static unsigned count_in(const char *function, struct place *those, unsigned count, uint8_t weight)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct code_function *const f = code_at(code.begin + those[i].offset);

		if (!f || !is_function(f->name, function))
			continue;
		n++;
		if (those[i].weight && those[i].weight < weight)
			those[i].weight = weight;
	}
	return n;
}

static void scene_listed(unsigned i, struct place *those, unsigned count)
{
	const struct scene *const s = sweep_scene(i);
	const bool charges = s->op.op == OP_CHARGE, fast = charges && s->after;
	struct answer a;

	in_context("%s, listed", s->name);
	CHECK_EQ(worker_hear(cast.victim, &a), HEARD);
	went_as_claimed(s, &a);
	if (s->traits & SAME_CREDIT)
		CHECK_EQ(credit_of(cast.same->slot), 0u);
	if (!charges)
		return;
	if (fast)
		CHECK_GE(count_in(INLINE, those, count, ALWAYS), 8u);
	CHECK_EQ(count_in("account_grow", those, count, 0) > 0, !fast);
}

static bool victim_has_answered(void *none)
{
	return has_answered(cast.victim);
}

static void scene_end(void)
{
	cast.victim->gone = true;
	end_child();
	world_end();
}

static const char *what_was_late(uint64_t *ns)
{
	*ns = late.ns;
	return late.ns ? late.what : NULL;
}

/* The whole test; `w` says what is done. */
TEST_USED static unsigned sweep(struct sweep *w, int argc, char **argv)
{
	workers_enter(argc, argv, sweep_calls);
	code_read("/proc/self/exe", is_ledgers);
	find_commit();
	w->scenes = ALL_SCENES;
	w->name = scene_name;
	w->begin = scene_begin;
	w->answered = victim_has_answered;
	w->changed = has_changed;
	w->listed = scene_listed;
	w->end = scene_end;
	w->late = what_was_late;
	return sweep_run(w, argc, argv);
}

#endif
