/*
 * Whatever bytes a ledger holds, and whatever appears in it between two steps: members that join,
 * charge, grow, refund and leave, and readers, do not crash, do not reach outside the file, and end
 * within their patience; an error comes with a reason, figures are within bounds, what is shown can
 * be shown. A grant that needed room was within the limit and the guarantees that stood in the
 * file, by sums of our own; in a file that only members wrote, what is charged is what was asked
 * for.
 *
 * An input is a program of the words below; `later n` delays the patches that follow by n points.
 */
#define FUZZ_CORPUS "ledger"
#include "proc_world.h"
#include "script.h"

#include "proc_look.h"

#define MEMBERS 2u

enum {
	SHAPE,
	LENGTH,
	HEADER_FIELD,
	TENANT_FIELD,
	SLOT_FIELD,
	DETAIL_FIELD,
	RAW,
	LATER,
	WAIT,
	JOIN,
	LEAVE,
	CHARGE,
	REFUND,
	FORCE,
	LOOK,
	USE,
	ROOM,
	WATCH,
	SWEEP,
	FORGET,
	ADMINISTER,
	RELEASE,
	CURRENT
};

const struct script_word script_words[] = {
	[SHAPE] = {"shape", 1},
	[LENGTH] = {"length", 1},
	[HEADER_FIELD] = {"header", 2},
	[TENANT_FIELD] = {"tenant", 3},
	[SLOT_FIELD] = {"slot", 3},
	[DETAIL_FIELD] = {"detail", 3},
	[RAW] = {"raw", 2},
	[LATER] = {"later", 1},
	[WAIT] = {"wait", 1},		  /* ms */
	[JOIN] = {"join", 4},		  /* member, tenant, limit and request in units; 0: none */
	[LEAVE] = {"leave", 1},		  /* member */
	[CHARGE] = {"charge", 2},	  /* member, units */
	[REFUND] = {"refund", 2},	  /* likewise */
	[FORCE] = {"force", 2},		  /* likewise */
	[LOOK] = {"look", 0},		  /* all of the reading API and what is shown of it */
	[USE] = {"use", 2},		  /* member, tenant */
	[ROOM] = {"room", 1},		  /* member */
	[WATCH] = {"watch", 1},		  /* member */
	[SWEEP] = {"sweep", 1},		  /* member */
	[FORGET] = {"forget", 2},	  /* member, slot */
	[ADMINISTER] = {"administer", 4}, /* as join */
	[RELEASE] = {"release", 2},	  /* member, tenant */
	[CURRENT] = {"current", 1},	  /* member */
	{NULL, 0},
};

static struct place {
	struct segment segment;
	struct member member;
	uint64_t charged; /* units, as long as nobody scribbled */
} places[MEMBERS];

static bool is_open(void)
{
	return places[0].segment.header || places[1].segment.header;
}

static struct tenant_wish wish_of(const struct script_line *line)
{
	static const char *const names[] = {"alice", "bob", "carol", "", "uid-1000"};
	struct tenant_wish wish = {
		.name = names[line->arg[1] % 5], .limit = CUQUOTA_NONE, .keep_ns = 100 * MS};

	if (line->arg[2])
		wish.limit = line->arg[2] * CUQUOTA_UNIT;
	wish.request = line->arg[3] * CUQUOTA_UNIT;
	return wish;
}

static void join(struct place *place, const struct script_line *line)
{
	const struct tenant_wish wish = wish_of(line);
	char why[SEGMENT_WHY] = "";
	struct tenant_outcome outcome;
	int rc = 0;

	begin("join", 5000);
	if (!place->segment.header)
		rc = segment_open(&place->segment, world_dir, UUID, DEVICE_BYTES, SEGMENT_MEMBER,
				  why);
	if (!rc && !place->member.segment) {
		rc = member_join(&place->member, &place->segment, &wish, -1, &outcome, why);
		place->charged = 0;
	}
	if (rc && strlen(why) < 20)
		FAIL("join: %d with no reason but \"%s\"", rc, why);
	CHECK(memchr(why, 0, sizeof(why)));
}

static void leave(struct place *place)
{
	begin("leave", 100);
	member_leave(&place->member);
	place->charged = 0;
	segment_close(&place->segment);
}

static void charge(struct place *place, uint32_t units)
{
	struct refusal refusal = {.cause = 0};
	struct rules rules;
	bool grows;
	int rc;

	if (!place->member.segment)
		return;
	grows = CUQUOTA_CREDIT(member_slot(&place->member)->word) < units;
	begin("charge", 200);
	rc = account_charge(&place->member, units, &refusal);
	if (rc) {
		/* A slot that is another's by now is noticed, and nothing is charged there. */
		if (rc == -ESTALE) {
			CHECK(!member_owns(&place->member));
			return;
		}
		CHECK_EQ(rc, -EDQUOT);
		CHECK(refusal.cause == REFUSED_LIMIT || refusal.cause == REFUSED_GUARANTEE);
		CHECK_EQ(refusal.asked, (uint64_t)units * CUQUOTA_UNIT);
		CHECK(memchr(refusal.top_command, 0, sizeof(refusal.top_command)));
		return;
	}
	place->charged += units;
	if (grows && !patches_pending() && !patches_waiting) {
		rules_read(&place->segment, place->member.tenant, &rules);
		if (!rules.within)
			FAIL("granted %u: %llu units of %llu; others %.0f of %.0f bytes, "
			     "own request %llu",
			     units, (unsigned long long)rules.used,
			     (unsigned long long)rules.limit / CUQUOTA_UNIT, (double)rules.others,
			     (double)rules.device, (unsigned long long)rules.request);
	}
}

static void refund(struct place *place, uint32_t units)
{
	if (!place->member.segment)
		return;
	if (!scribbled && units > place->charged)
		units = (uint32_t)place->charged;
	begin("refund", 1);
	account_refund(&place->member, units);
	place->charged -= units < place->charged ? units : place->charged;
}

static void use(struct place *place, uint64_t tenant)
{
	struct account_use figures;
	int rc;

	if (!place->segment.header)
		return;
	begin("use", 10);
	glance_swept(&place->segment);
	glance_held(&place->segment, (uint32_t)(tenant % place->segment.tenant_count));
	rc = account_use(&place->segment, (uint32_t)tenant, &figures);
	CHECK_EQ(rc, (uint32_t)tenant < place->segment.tenant_count ? 0 : -ENOENT);
	CHECK_LE(figures.lent, figures.request);
	if (!rc && figures.limit != CUQUOTA_NONE)
		CHECK_LE(figures.free, figures.limit);
}

static void patch(const struct script_line *line, unsigned points)
{
	const struct cuquota_header *const h = &world.header;
	const uint64_t *const a = line->arg;

	if (!world_has_file())
		return;
	switch (line->word) {
	case HEADER_FIELD:
		patch_field(0, FIELDS(header_fields), a[0], a[1], points);
		break;
	case TENANT_FIELD:
		patch_field(h->tenant_offset + a[0] % h->tenant_count * h->tenant_stride,
			    FIELDS(tenant_fields), a[1], a[2], points);
		break;
	case SLOT_FIELD:
		patch_field(h->member_offset + a[0] % h->member_count * h->member_stride,
			    FIELDS(slot_fields), a[1], a[2], points);
		break;
	case DETAIL_FIELD:
		patch_field(h->detail_offset + a[0] % h->member_count * h->detail_stride,
			    FIELDS(detail_fields), a[1], a[2], points);
		break;
	default:
		patch_add(&(struct patch){a[0] % world.bytes & ~UINT64_C(3), a[1], 4, points});
	}
}

/* Of the whole file, while nobody has it mapped: a file that shrinks under a mapping ends whoever
 * looks. */
static void cut(uint64_t bytes)
{
	if (is_open() || !world_has_file())
		return;
	scribbled = true;
	world.bytes = bytes % (2 * CUQUOTA_FILE_BYTES);
	CHECK_SYS(ftruncate(world.file, (off_t)world.bytes));
	if (world.bytes < sizeof(struct cuquota_header))
		world_make(0);
}

static void run_more(struct place *place, const struct script_line *line)
{
	const struct tenant_wish wish = wish_of(line);
	const bool disturbed = patches_pending();
	struct account_watch watch;
	int rc;

	if (!place->segment.header)
		return;
	switch (line->word) {
	case ROOM:
		if (place->member.segment)
			CHECK_LE(account_room(&place->member), CUQUOTA_WAITED - 1);
		break;
	case WATCH:
		if (!place->member.segment)
			break;
		account_watch(&place->member, &watch);
		CHECK(account_undisturbed(&place->member, &watch) || disturbed);
		break;
	case SWEEP:
		begin("sweep", 200);
		member_sweep(&place->segment, segment_now_ns(), world_now + 100 * MS);
		break;
	case FORGET:
		member_forget_dead(&place->segment,
				   (uint32_t)(line->arg[1] % place->segment.member_count));
		break;
	case ADMINISTER:
	case RELEASE:
		begin("administer", 3000);
		rc = tenant_administer(&place->segment, &wish, line->word == RELEASE);
		CHECK(!rc || rc == -ENOENT || rc == -ENOSPC);
		break;
	case CURRENT:
		if (place->member.segment && !member_is_current(&place->member))
			member_revive(&place->member);
	}
}

static void run(const struct script_line *line, unsigned *points)
{
	struct place *const place = &places[line->arg[0] % MEMBERS];

	switch (line->word) {
	case SHAPE:
		if (!is_open())
			world_make(line->arg[0]);
		break;
	case LENGTH:
		cut(line->arg[0]);
		break;
	case LATER:
		*points = (unsigned)(line->arg[0] % 400);
		break;
	case WAIT:
		world_now += line->arg[0] % 1000000 * MS;
		break;
	case JOIN:
		join(place, line);
		break;
	case LEAVE:
		leave(place);
		break;
	case CHARGE:
		charge(place, (uint32_t)line->arg[1]);
		break;
	case REFUND:
		refund(place, (uint32_t)line->arg[1]);
		break;
	case FORCE:
		if (place->member.segment) {
			account_force(&place->member, (uint32_t)line->arg[1] & 0xfffff);
			place->charged += (uint32_t)line->arg[1] & 0xfffff;
		}
		break;
	case LOOK:
		begin("look", 100);
		look(world_dir);
		break;
	case USE:
		use(place, line->arg[1]);
		break;
	case HEADER_FIELD:
	case TENANT_FIELD:
	case SLOT_FIELD:
	case DETAIL_FIELD:
	case RAW:
		patch(line, *points);
		/* What is scribbled is not announced: whoever noted what others have looks anew. */
		for (unsigned i = 0; i < MEMBERS; i++)
			places[i].member.bound.version = 0;
		break;
	default:
		run_more(place, line);
	}
	world_until = UINT64_MAX;
	for (unsigned i = 0; i < MEMBERS && !scribbled; i++)
		if (places[i].member.segment)
			CHECK_EQ(CUQUOTA_CHARGED(member_slot(&places[i].member)->word),
				 (uint32_t)places[i].charged);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *const above = getenv("CUQUOTA_DIR");

	log_setup(LOG_OFF, NULL);
	snprintf(world_dir, sizeof(world_dir), "%.100s", above ? above : "/dev/shm/cuquota-fuzz");
	mkdir(world_dir, 01777);
	return 0;
}

static int next_descriptor(void)
{
	const int file = open(world_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_SYS(file);
	close(file);
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct script_line lines[SCRIPT_LINES];
	const int descriptor = next_descriptor();
	unsigned points = 0, count;

	if (size > INPUT_MOST)
		return 0;
	world_now = 1000 * 1000 * MS;
	patches_waiting = 0;
	scribbled = false;
	world_make(0);
	count = script_read(data, size, lines);
	for (unsigned i = 0; i < count; i++)
		run(&lines[i], &points);
	for (unsigned i = 0; i < MEMBERS; i++)
		leave(&places[i]);
	unmap_rest();
	world_close();
	/* Whatever happened, no descriptor is left open. */
	world_make(SHAPES);
	CHECK_EQ(next_descriptor(), descriptor);
	return 0;
}
