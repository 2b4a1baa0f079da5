/*
 * Four tenants on one device: two with a request, whose members take and give it back, and two that
 * borrow all they can get. At every instant the sum over tenants of max(held, request) stays within
 * the device, and a tenant that asks within its request is never refused.
 */
#include "proc_helper.h"

#define DEVICE (1024 * MIB)
#define TENANTS 4
#define SHIFT 16 /* bits of a tenant's held units in the one shared word, so that one
		  * addition reads all four */
#define MASK ((1ull << SHIFT) - 1)

static const uint32_t requests[TENANTS] = {300 * MIB, 400 * MIB, 0, 0};

static void note(uint64_t all)
{
	uint64_t sum = 0;

	for (unsigned t = 0; t < TENANTS; t++) {
		const uint64_t held = all >> (t * SHIFT) & MASK;

		sum += held > requests[t] ? held : requests[t];
	}
	shared_most(sum);
}

static void took(unsigned t, uint64_t units)
{
	note(__atomic_add_fetch(&world.shared->used, units << (t * SHIFT), __ATOMIC_SEQ_CST));
}

static void gives(unsigned t, uint64_t units)
{
	__atomic_fetch_sub(&world.shared->used, units << (t * SHIFT), __ATOMIC_SEQ_CST);
}

/* Two members of a tenant with a request: each asks for up to half of it, so that
 * together they stay within. */
static void claim(struct self *self, const struct order *o, struct answer *a)
{
	const unsigned t = (unsigned)o->b;
	const uint32_t half = requests[t] / 2;
	uint64_t random = self->index;

	barrier(o->nth);
	for (uint64_t i = 0; i < o->a; i++) {
		const uint32_t units = i % 4 ? 1 + next_random(&random) % half : half;
		const int rc = own_charge(self, units, &a->refusal);

		if (rc) {
			a->rc = rc;
			a->value = i;
			break;
		}
		took(t, units);
		gives(t, units);
		own_refund(self, units);
	}
	__atomic_add_fetch(&world.shared->stop, 1, __ATOMIC_SEQ_CST);
}

/* Borrows until refused, lets go, again; until the claimers are done. */
static void borrow(struct self *self, const struct order *o, struct answer *a)
{
	uint64_t random = self->index;

	barrier(o->nth);
	while (__atomic_load_n(&world.shared->stop, __ATOMIC_SEQ_CST) < o->a) {
		uint64_t held = 0;

		for (;;) {
			const uint32_t units = 1 + next_random(&random) % (100 * MIB);
			const int rc = own_charge(self, units, &a->refusal);

			if (rc) {
				if (rc != -EDQUOT || a->refusal.cause != REFUSED_GUARANTEE)
					a->rc = rc;
				break;
			}
			took((unsigned)o->b, units);
			held += units;
			if (held > DEVICE) {
				a->rc = -EOVERFLOW;
				return;
			}
		}
		a->value += held;
		gives((unsigned)o->b, held);
		own_refund(self, (uint32_t)held);
	}
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {claim, borrow};
	static const unsigned tenant_of[6] = {0, 0, 1, 1, 2, 3};
	struct worker *w[6];

	workers_enter(argc, argv, calls);
	world_start(BYTES(DEVICE), 50);
	for (unsigned i = 0; i < 6; i++) {
		static const char *const names[] = {"a", "b", "c", "d"};

		w[i] = worker_joined(names[tenant_of[i]], CUQUOTA_NONE,
				     BYTES(requests[tenant_of[i]]));
	}
	for (unsigned i = 0; i < 6; i++) {
		const bool claims = requests[tenant_of[i]] != 0;
		const struct order o = {
			.op = OP_CALL,
			.units = claims ? 0 : 1,
			.nth = 6,
			.b = tenant_of[i],
			.a = claims ? (test_long() ? 200000 : 20000) : 4,
		};

		worker_tell(w[i], &o);
	}
	for (unsigned i = 0; i < 6; i++) {
		struct answer a;

		CHECK_EQ(worker_hear(w[i], &a), HEARD);
		if (a.rc)
			FAIL("worker %u of tenant %u: %d (cause %d) at step %llu, asked %llu used "
			     "%llu room %llu",
			     i, tenant_of[i], a.rc, a.refusal.cause, (unsigned long long)a.value,
			     (unsigned long long)a.refusal.asked,
			     (unsigned long long)a.refusal.used,
			     (unsigned long long)a.refusal.room);
		if (!requests[tenant_of[i]])
			CHECK_OP(a.value, >, 0ull);
	}
	printf("at most %llu of %u units promised and held\n",
	       (unsigned long long)world.shared->most, DEVICE);
	CHECK_LE(world.shared->most, (uint64_t)DEVICE);
	CHECK_OP(world.shared->most, >, (uint64_t)DEVICE * 9 / 10);
	ledger_is_true("after the race");
	return 0;
}
