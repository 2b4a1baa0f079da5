/*
 * Joining and joining anew. See seat.h.
 */
#include "policy/seat.h"
#include "policy/block.h"
#include "policy/extent.h"
#include "policy/process.h"
#include "policy/visible.h"
#include "base/wiped.h"

#include "base/identity.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEATS 4	    /* of a device, in turn: a thread may still be using the one before */
#define REJOINS 64u /* each leaves a mapping and a descriptor behind */
#define CHECK_NS 1000000000ull
#define LOST_TRIES 3
#define INHERITED 64

struct seats {
	struct seat seat[DEVICES_MAX][SEATS];
	uint32_t joins[DEVICES_MAX];
	bool left_alone[DEVICES_MAX]; /* and said so */
	pthread_mutex_t joining;
};

static void *memory;
/* Ordinary memory, so that a forked child knows which descriptors it has from its parent. */
static int hold_of[DEVICES_MAX];
static bool hold_noted[DEVICES_MAX];
static int inherited[INHERITED];
static unsigned inherited_count;

static struct seats *seats(void)
{
	return memory;
}

int seat_start(void)
{
	return wiped_once(&memory, sizeof(struct seats)) ? 0 : -ENOMEM;
}

bool seat_is_joined(const struct device *device)
{
	return device->member && __atomic_load_n(&device->member->segment, __ATOMIC_ACQUIRE);
}

static int fill_wish(const struct device *device, struct tenant_wish *wish,
		     char name[SETTINGS_TENANT])
{
	const struct settings *const settings = settings_get();
	__typeof__(settings_limit) *const limit =
		device->divided ? settings_limit_divided : settings_limit;
	__typeof__(settings_request) *const request =
		device->divided ? settings_request_divided : settings_request;
	int rc;

	if (settings->tenant[0])
		strcpy(name, settings->tenant);
	else
		identity_derive(&identity_proc, name);
	wish->name = name;
	wish->keep_ns = settings->request_keep_ns;
	rc = limit(settings, &device->uuid, device->place, device->bytes, &wish->limit);
	return rc ? rc
		  : request(settings, &device->uuid, device->place, device->bytes, &wish->request);
}

/* Has the tenant other members, alive? */
static bool is_shared(const struct device *device)
{
	const struct member *const member = seat_member(device);
	struct life_file file = LIFE_FILE_CLOSED;
	struct segment_walk walk;
	bool shared = false;

	walk = segment_walk(member->segment, member->tenant);
	while (!shared && segment_step_member(&walk, member->tenant))
		shared = walk.index != member->slot &&
			 life_test(member->segment, &file, walk.index) != LIFE_DEAD;
	life_close(&file);
	return shared;
}

#define APART "for a limit of its own give it another --tenant (CUQUOTA_TENANT)"

static void report(const struct device *device, const struct tenant_wish *wish,
		   const struct tenant_outcome *outcome)
{
	const char *const why =
		outcome->administered ? "`cuquota set` holds" : "its running processes keep theirs";
	char brought[SIZE_TEXT], brought_request[SIZE_TEXT];
	char holds[SIZE_TEXT], holds_request[SIZE_TEXT], before[SIZE_TEXT];

	if (outcome->lowered && is_shared(device))
		log_warn("%s: this process lowers the limit of tenant %s from %s to %s, also for "
			 "those running; " APART,
			 device->name, wish->name, size_format(outcome->previous, before),
			 size_format(outcome->limit, holds));
	if (outcome->conflict && wish->limit != outcome->limit && wish->limit != CUQUOTA_NONE)
		log_warn("%s: the limit of tenant %s stays %s, this process asks for %s: "
			 "%s; " APART,
			 device->name, wish->name, size_format(outcome->limit, holds),
			 size_format(wish->limit, brought), why);
	if (outcome->conflict && wish->request != outcome->request && wish->request)
		log_warn("%s: the request of tenant %s stays %s, this process asks for %s: "
			 "%s; " APART,
			 device->name, wish->name, size_format(outcome->request, holds_request),
			 size_format(wish->request, brought_request), why);
	log_info("%s: joined as tenant %s, limit %s, request %s", device->name, wish->name,
		 size_format(outcome->limit, holds), size_format(outcome->request, holds_request));
}

/* Takes over the mapping that is there, if its path still names it. */
static int open_segment(struct device *device, char why[SEGMENT_WHY])
{
	struct segment *segment = device->segment;
	int rc;

	if (segment && segment->header && segment_is_linked(segment))
		return 0;
	segment = calloc(1, sizeof(*segment));
	if (!segment) {
		strcpy(why, "out of host memory");
		return -ENOMEM;
	}
	rc = segment_open(segment, settings_folder(settings_get()), device->name, device->bytes,
			  SEGMENT_MEMBER, why);
	if (rc) {
		free(segment);
		return rc;
	}
	/* The old one stays mapped: another thread may be in it. */
	device->segment = segment;
	return 0;
}

/* Only a joining that succeeds moves on to the next seat: the one in use is never written to. */
int seat_join(struct device *device, unsigned index, int reserved, char why[SEGMENT_WHY])
{
	const uint32_t n = seats()->joins[index] + 1;
	struct seat *const seat = &seats()->seat[index][n % SEATS];
	struct tenant_outcome outcome = {0};
	char name[SETTINGS_TENANT];
	struct tenant_wish wish;
	int rc;

	rc = fill_wish(device, &wish, name);
	if (rc)
		strcpy(why, "a setting cannot hold on this device");
	if (!rc)
		rc = open_segment(device, why);
	if (rc) {
		if (reserved >= 0)
			close(reserved);
		return rc;
	}
	memset(seat, 0, sizeof(*seat));
	seat->number = (uint8_t)(n % 255 + 1);
	seat->alone = device->parent ? 0 : seat->number;
	rc = member_join(&seat->member, device->segment, &wish, reserved, &outcome, why);
	if (rc)
		return rc;
	seats()->joins[index] = n;
	hold_of[index] = seat->member.life.hold;
	hold_noted[index] = true;
	__atomic_store_n(&device->member, &seat->member, __ATOMIC_RELEASE);
	report(device, &wish, &outcome);
	return 0;
}

void seat_disown(const struct device *devices, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!hold_noted[i] || seat_is_joined(&devices[i]))
			continue;
		hold_noted[i] = false;
		if (inherited_count < INHERITED)
			inherited[inherited_count++] = hold_of[i];
	}
	for (unsigned n = 0; n < inherited_count; n++)
		for (unsigned i = 0; i < count; i++)
			if (devices[i].segment)
				life_disown(devices[i].segment, inherited[n]);
	inherited_count = 0;
}

static void adopt(uint8_t index, uint32_t units)
{
	if (units)
		seat_force(device_by_index(index), units);
}

/*
 * The place is lost: somebody unmapped our life page, or the file was replaced. Claims in flight
 * see the raised epoch when they close and charge themselves; whatever is entered already is
 * adopted table by table.
 */
static void rejoin(struct device *device, unsigned index)
{
	char why[SEGMENT_WHY] = "";

	if (member_revive(seat_member(device)) == 0)
		return;
	if (seats()->joins[index] >= REJOINS) {
		if (!seats()->left_alone[index])
			log_error("%s: the place in the ledger was lost %u times and is not had "
				  "again: other processes no longer see what this one holds; find "
				  "out who removes or replaces %s.ledger",
				  device->name, REJOINS, device->segment->path);
		seats()->left_alone[index] = true;
		return;
	}
	if (seat_join(device, index, -1, why)) {
		log_error("%s: the place in the ledger is lost and cannot be had again: %s",
			  device->name, why);
		return;
	}
	block_epoch_raise();
	block_adopt((uint8_t)index, seat_now(device), adopt);
	extent_adopt((uint8_t)index, seat_now(device), adopt);
	context_adopt((uint8_t)index, seat_now(device), adopt);
	vmm_adopt((uint8_t)index, seat_now(device), adopt);
	pool_adopt((uint8_t)index, seat_now(device), adopt);
	log_warn("%s: the place in the ledger was lost; joined anew with all that this "
		 "process holds",
		 device->name);
}

/* `lost`: for certain. */
static void check(const struct device *device, bool lost)
{
	struct member *const member = seat_member(device);
	const uint64_t now = segment_coarse_ns();
	uint64_t checked = __atomic_load_n(&member->checked_ns, __ATOMIC_RELAXED);
	int cancel;

	if (!lost && (now < checked + CHECK_NS ||
		      !__atomic_compare_exchange_n(&member->checked_ns, &checked, now, false,
						   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&seats()->joining);
	if (seat_member(device) == member && !member_is_current(member))
		rejoin((struct device *)(uintptr_t)device, device_index(device));
	pthread_mutex_unlock(&seats()->joining);
	pthread_setcancelstate(cancel, NULL);
}

static bool has_credit(const struct member *member, uint32_t units)
{
	return CUQUOTA_CREDIT(__atomic_load_n(&member_slot(member)->word, __ATOMIC_RELAXED)) >=
	       units;
}

int seat_charge_short(const struct device *device, uint32_t units, uint8_t *seat,
		      struct refusal *refusal)
{
	const int kept = errno;
	struct member *member;
	int rc = 0;

	for (int i = 0; i < LOST_TRIES; i++) {
		check(device, rc != 0);
		if (device->parent)
			check(device->parent, rc != 0);
		member = seat_member(device);
		errno = kept;
		*seat = seat_of(member);
		rc = device->parent ? both_charge(device, member, units, refusal)
				    : account_grow(member, units, refusal);
		if (rc != -ESTALE)
			return rc;
	}
	/* Said already, with the reason. Nothing is had where nobody would count it. */
	if (refusal)
		*refusal = (struct refusal){.cause = REFUSED_LIMIT,
					    .asked = (uint64_t)units * CUQUOTA_UNIT};
	return -EDQUOT;
}

uint8_t seat_force(const struct device *device, uint32_t units)
{
	struct member *const member = seat_member(device);

	if (device->parent) {
		both_force(device, member, units);
		return seat_of(member);
	}
	account_force(member, units);
	seat_note(member, units);
	return seat_of(member);
}

int seat_charge_more(const struct device *device, uint8_t seat, uint32_t units)
{
	uint8_t now;
	const int rc = seat_charge(device, units, &now, NULL);

	if (!rc && now != seat)
		seat_refund(device, now, units);
	return rc;
}

void seat_force_more(const struct device *device, uint8_t seat, uint32_t units)
{
	const uint8_t now = seat_force(device, units);

	if (now != seat)
		seat_refund(device, now, units);
}

/* Out of the way of those that have no GPU above. */
__attribute__((noinline, cold)) uint32_t seat_room(const struct device *device)
{
	uint32_t room = UINT32_MAX;

	for (; device; device = device->parent) {
		const uint32_t here = account_room(seat_member(device));

		room = here < room ? here : room;
	}
	return room;
}

bool seat_has_room(const struct device *device, uint32_t units)
{
	const struct member *const member = seat_member(device);

	if (__builtin_expect(device->parent != NULL, 0))
		return seat_room(device) >= units;
	return has_credit(member, units) || account_room(member) >= units;
}

bool seat_within_limit(const struct device *device)
{
	struct account_use use;

	for (; device; device = device->parent) {
		const struct member *const member = seat_member(device);

		if (!account_use(member->segment, member->tenant, &use) && use.charged > use.limit)
			return false;
	}
	return true;
}

void seat_count_family(const struct device *device, unsigned family, uint32_t units)
{
	for (; device; device = device->parent)
		__atomic_fetch_add(&member_detail(seat_member(device))->family[family], units,
				   __ATOMIC_RELAXED);
}
