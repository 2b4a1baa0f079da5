/*
 * A hostile or mad member writes random bytes over every field of the ledger, again and again,
 * while members charge, refund, join, leave and sweep, and a reader sums. Figures may be nonsense;
 * no process crashes, hangs, reads or writes outside the file (also under the address sanitizer),
 * or loses more than its patience.
 */
#include "proc_files.h"

static const struct shape shape = SHAPE_SMALL(70, 5);

/* One round of all that a member does; results are not looked at, only that they come. */
static void live(struct self *self, const struct order *o, struct answer *a)
{
	const struct tenant_wish wish = {self->index % 2 ? "a" : "b", BYTES(GIB), BYTES(MIB), 1};
	struct tenant_outcome outcome;
	struct account_watch watch;
	struct account_use use;
	struct refusal refusal;
	char why[SEGMENT_WHY];

	if (!self->segment.header && segment_open(&self->segment, world.dir, world.uuid,
						  world.device_bytes, SEGMENT_MEMBER, why)) {
		a->value = 1;
		return;
	}
	if (!self->member->segment)
		member_join(self->member, &self->segment, &wish, -1, &outcome, why);
	if (self->member->segment) {
		for (int i = 0; i < 3; i++)
			if (account_charge(self->member, 1 + 50 * MIB * (uint32_t)i, &refusal) == 0)
				account_refund(self->member, 1 + 50 * MIB * (uint32_t)i);
		account_force(self->member, 3);
		account_room(self->member);
		account_watch(self->member, &watch);
		account_undisturbed(self->member, &watch);
		account_refund(self->member, 3);
		if (!member_is_current(self->member))
			member_revive(self->member);
	}
	for (uint32_t t = 0; t < self->segment.tenant_count; t++)
		account_use(&self->segment, t, &use);
	tenant_find(&self->segment, "a");
	member_sweep_now(&self->segment);
	if (o->a % 5 == 0) {
		tenant_administer(&self->segment, &wish, o->a % 10 == 0);
		member_leave(self->member);
	}
	if (o->a % 11 == 0 && !self->member->segment)
		segment_close(&self->segment);
}

static void scribble(uint8_t *image, size_t bytes, uint64_t *random, uint32_t round)
{
	const struct cuquota_header *const h = (const struct cuquota_header *)image;
	/* Members and tenants more often than the long tail of details; extremes more often than
	 * chance has them. */
	const size_t regions[4][2] = {{0, sizeof(*h)},
				      {shape.header_bytes, 5 * 256},
				      {shape.header_bytes + 5 * 256, 70 * 64},
				      {0, bytes}};
	const unsigned region = round % 4;

	for (unsigned i = 0; i < 40; i++) {
		const size_t at = (regions[region][0] + next_random(random) % regions[region][1]) &
				  ~(size_t)3;
		static const uint32_t extremes[] =
			{0, 1, 2, UINT32_MAX, UINT32_MAX - 1, 0x80000000u, 64, 4096};
		const uint32_t value = next_random(random) % 2 ? extremes[next_random(random) % 8]
							       : next_random(random);

		__atomic_store_n((uint32_t *)(image + at), value, __ATOMIC_SEQ_CST);
	}
	if (round % 8 == 7)
		for (size_t i = 0; i + 4 <= regions[region][1]; i += 4)
			__atomic_store_n((uint32_t *)(image + regions[region][0] + i),
					 next_random(random), __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	static worker_call *const calls[] = {live};
	struct order o = {.op = OP_CALL, .units = 0};
	const uint32_t rounds = test_long() ? 2000 : 120;
	struct cuquota_header h;
	uint64_t random = 4711, longest = 0;
	struct worker *w[3];
	unsigned refused = 0;
	uint8_t *image;
	int file;

	workers_enter(argc, argv, calls);
	world_start(BYTES(4 * GIB), 100);
	h = shape_header(&shape, world.device_bytes);
	shape_write(&shape, &h);
	file = open(ledger_path(), O_RDWR | O_CLOEXEC);
	CHECK_SYS(file);
	image = mmap(NULL, h.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(image != MAP_FAILED);
	for (int i = 0; i < 3; i++)
		w[i] = worker_start();
	for (uint32_t round = 0; round < rounds; round++) {
		struct answer a;

		o.a = round;
		/* Half the rounds race with the scribbling, half come after it. */
		if (round % 2)
			scribble(image, h.file_bytes, &random, round / 2);
		for (int i = 0; i < 3; i++)
			worker_tell(w[i], &o);
		if (round % 2 == 0)
			for (int i = 0; i < 50; i++)
				scribble(image, h.file_bytes, &random, round / 2);
		for (int i = 0; i < 3; i++) {
			if (worker_hear(w[i], &a) != HEARD)
				FAIL("round %u: worker %d died", round, i);
			if (a.ns > longest)
				longest = a.ns;
			refused += a.value;
		}
		/* Every tenth round begins from a good file, or nobody would get as far as the
		 * deeper paths. */
		if (round % 10 == 9) {
			memset(image + sizeof(h), 0, h.file_bytes - sizeof(h));
			memcpy(image, &h, sizeof(h));
		}
	}
	printf("longest round %.0f ms, opening refused %u times\n", (double)longest / 1e6, refused);
	CHECK_LE(longest, 10000 * MS);
	return 0;
}
