/*
 * A thread notes what others have while another reads it, or has begun to and never ends: the other
 * sums all slots, so that beside a third tenant's guarantee what does not fit is refused, and what
 * just fits is granted. Nor do two note at once.
 */
#include "proc_helper.h"

#include <pthread.h>
#include <semaphore.h>

#define DEVICE (1024 * MIB)
#define REQUEST (524 * MIB)
#define LIMIT (400 * MIB) /* of the one who looks: less than it could have beside the guarantee */
#define RISE (300 * MIB)
#define LEFT (DEVICE - REQUEST - RISE)

/* ---- in the looker: a second thread that notes, and is kept at a point of it ---- */

static struct self *own;
static struct {
	pthread_t thread;
	const char *at;
	unsigned left; /* passings until it is kept */
	sem_t there, on;
} noter;
static __thread bool notes;

static void keep_noter(const char *name)
{
	if (!notes || !noter.left || strcmp(name, noter.at) || --noter.left)
		return;
	sem_post(&noter.there);
	sem_wait(&noter.on);
}

static void *note(void *none)
{
	struct account_use use;

	notes = true;
	CHECK_EQ(account_use_own(own->member, &use), 0);
	return NULL;
}

static void begin_at(const char *at, unsigned nth)
{
	noter.at = at;
	noter.left = nth;
	sem_init(&noter.there, 0, 0);
	sem_init(&noter.on, 0, 0);
	point_each = keep_noter;
	CHECK_EQ(pthread_create(&noter.thread, NULL, note, NULL), 0);
	sem_wait(&noter.there);
}

static void begin(struct self *self, const struct order *o, struct answer *a)
{
	own = self;
	begin_at(o->name, o->nth);
}

static void end(struct self *self, const struct order *o, struct answer *a)
{
	sem_post(&noter.on);
	CHECK_EQ(pthread_join(noter.thread, NULL), 0);
}

static void begin_here(void)
{
	begin_at("bound.begun", 1);
}

/* A charge that has begun to read what was noted when the other begins. */
static void charge_beside(struct self *self, const struct order *o, struct answer *a)
{
	own = self;
	point_call = begin_here;
	point_arm("bound.reading", 1, 0);
	a->rc = own_charge(self, (uint32_t)o->a, &a->refusal);
	CHECK_EQ(point.left, 0u);
	end(self, o, a);
}

enum call { BEGIN,
	    END,
	    CHARGE_BESIDE };

/* ---- the rounds ---- */

static struct worker *other, *looker;

static void begin_noting(const char *at, uint32_t nth)
{
	struct order o = {.op = OP_CALL, .units = BEGIN, .nth = nth};

	snprintf(o.name, sizeof(o.name), "%s", at);
	worker_do(looker, &o);
}

/* The looker has noted what there was before the other's rise. */
static void begin_round(const char *name)
{
	in_context("%s", name);
	world_start(BYTES(DEVICE), 20);
	worker_joined("promised", CUQUOTA_NONE, BYTES(REQUEST));
	other = worker_joined("other", CUQUOTA_NONE, 0);
	looker = worker_joined("looker", BYTES(LIMIT), 0);
	CHECK_EQ(worker_charge(looker, 10 * MIB), 0);
}

static void end_round(uint32_t left)
{
	const struct answer a = worker_units(looker, OP_CHARGE, left + 1);

	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	CHECK_EQ(worker_charge(looker, left), 0);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
}

static void noted_beside_a_reader(void)
{
	const struct order beside = {
		.op = OP_CALL, .units = CHARGE_BESIDE, .a = LEFT - 10 * MIB + 1};
	struct answer a;

	begin_round("noted beside a reader");
	CHECK_EQ(worker_charge(other, RISE), 0);
	a = worker_do(looker, &beside);
	CHECK_EQ(a.rc, -EDQUOT);
	CHECK_EQ((int)a.refusal.cause, REFUSED_GUARANTEE);
	end_round(LEFT - 10 * MIB);
	ledger_is_true("at the end");
	world_end();
}

static void never_noted_to_the_end(void)
{
	begin_round("never noted to the end");
	CHECK_EQ(worker_charge(other, RISE), 0);
	begin_noting("bound.begun", 1);
	end_round(LEFT - 10 * MIB);
	worker_units(looker, OP_CALL, END);
	CHECK_EQ(worker_charge(looker, 1), -EDQUOT);
	ledger_is_true("at the end");
	world_end();
}

/* The first has read the other's slot by the third. */
static void noted_by_two(void)
{
	begin_round("noted by two");
	begin_noting("sum.between", 3);
	CHECK_EQ(worker_charge(other, RISE), 0);
	CHECK_EQ(worker_charge(looker, MIB), 0);
	worker_units(looker, OP_CALL, END);
	end_round(LEFT - 11 * MIB);
	ledger_is_true("at the end");
	world_end();
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {
		[BEGIN] = begin, [END] = end, [CHARGE_BESIDE] = charge_beside};

	workers_enter(argc, argv, calls);
	noted_beside_a_reader();
	never_noted_to_the_end();
	noted_by_two();
	return 0;
}
