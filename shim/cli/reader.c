/*
 * The reading API of include/cuquota/cuquota.h.
 *
 * Promises: writes nothing, takes no lock, waits for nobody. It stands on headers of the ledger
 * floor, the one exception to "cli includes base only": who is alive, what is promised and what
 * would be granted must be told here by the same tests as in the members.
 */
#include <cuquota/cuquota.h>

#include "base/settings.h"
#include "base/text.h"
#include "ledger/life.h"
#include "ledger/segment.h"
#include "ledger/sum.h"
#include "ledger/tenant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENDING ".ledger"

_Static_assert(sizeof(((struct cuquota_device_info *)0)->why) == SEGMENT_WHY, "room for a reason");

struct cuquota {
	char folder[SETTINGS_PATH];
	struct cuquota_snapshot snapshot;
	struct cuquota_device_info *device;
	uint32_t room;
};

static uint64_t bytes_of(uint32_t units)
{
	return (uint64_t)units * CUQUOTA_UNIT;
}

/* Copies text that somebody else may be writing: always ended. */
static void copy_text(char *to, size_t size, const char *from)
{
	memcpy(to, from, size - 1);
	to[size - 1] = '\0';
}

static void read_member(const struct segment *segment, uint32_t index, enum life life,
			struct cuquota_member_info *info)
{
	const struct cuquota_slot *const slot = segment_slot(segment, index);
	const struct cuquota_detail *const detail = segment_detail(segment, index);
	const uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST);

	*info = (struct cuquota_member_info){
		.slot = index,
		.generation = __atomic_load_n(&slot->gen, __ATOMIC_RELAXED),
		.life = life == LIFE_GHOST ? CUQUOTA_GHOST : CUQUOTA_ALIVE,
		.pid = __atomic_load_n(&detail->pid, __ATOMIC_RELAXED),
		.pid_namespace = __atomic_load_n(&detail->pid_namespace, __ATOMIC_RELAXED),
		.used = bytes_of(CUQUOTA_CHARGED(word)),
		.credit = bytes_of(CUQUOTA_CREDIT(word)),
		.pending = bytes_of(
			CUQUOTA_PENDING(__atomic_load_n(&slot->pending, __ATOMIC_RELAXED))),
		.peak = bytes_of(__atomic_load_n(&detail->peak, __ATOMIC_RELAXED)),
		.refused_limit = __atomic_load_n(&detail->refused_limit, __ATOMIC_RELAXED),
		.refused_guarantee = __atomic_load_n(&detail->refused_guarantee, __ATOMIC_RELAXED),
		.refused_driver = __atomic_load_n(&detail->refused_driver, __ATOMIC_RELAXED),
		.over = __atomic_load_n(&detail->over, __ATOMIC_RELAXED),
		.joined_ns = __atomic_load_n(&detail->joined_ns, __ATOMIC_RELAXED),
	};
	copy_text(info->command, sizeof(info->command), detail->command);
	info->family[CUQUOTA_LINEAR] = info->used;
	for (unsigned i = CUQUOTA_LINEAR + 1; i < CUQUOTA_FAMILIES; i++) {
		const uint64_t bytes =
			bytes_of(__atomic_load_n(&detail->family[i], __ATOMIC_RELAXED));

		/* One that fell below 0, since it began in a place that was lost, is nothing. */
		info->family[i] = bytes <= info->family[CUQUOTA_LINEAR] ? bytes : 0;
		info->family[CUQUOTA_LINEAR] -= info->family[i];
	}
}

struct collected {
	struct cuquota_member_info *member;
	uint32_t *tenant; /* of each member */
	uint32_t count;
	bool *present; /* of each tenant: a slot is in use, if only by a dead one not yet noticed */
};

/* Everybody who holds memory or may: the dead are passed over. */
static int collect(const struct segment *segment, struct collected *all)
{
	const uint32_t high = segment_high(segment);
	struct life_file file = LIFE_FILE_CLOSED;

	all->count = 0;
	all->member = calloc(high ? high : 1, sizeof(*all->member));
	all->tenant = calloc(high ? high : 1, sizeof(*all->tenant));
	all->present = calloc(segment->tenant_count, sizeof(*all->present));
	if (!all->member || !all->tenant || !all->present)
		return -ENOMEM;
	for (uint32_t i = 0; i < high; i++) {
		const struct cuquota_slot *const slot = segment_slot(segment, i);
		enum life life;
		uint32_t tenant;

		if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != CUQUOTA_USED)
			continue;
		tenant = __atomic_load_n(&slot->tenant, __ATOMIC_RELAXED);
		if (!segment_has_tenant(segment, tenant))
			continue;
		all->present[tenant] = true;
		life = life_test(segment, &file, i);
		if (life == LIFE_DEAD)
			continue;
		read_member(segment, i, life, &all->member[all->count]);
		all->tenant[all->count++] = tenant;
	}
	life_close(&file);
	return 0;
}

static int read_tenant(const struct segment *segment, uint32_t index, const struct collected *all,
		       uint64_t now_ns, struct cuquota_tenant_info *info)
{
	const struct cuquota_tenant *const record = segment_tenant(segment, index);
	struct cuquota_member_info *member;

	*info = (struct cuquota_tenant_info){
		.limit = __atomic_load_n(&record->limit, __ATOMIC_RELAXED),
		.request = __atomic_load_n(&record->request, __ATOMIC_RELAXED),
		.administered = !!(__atomic_load_n(&record->flags, __ATOMIC_RELAXED) &
				   CUQUOTA_ADMINISTERED),
	};
	copy_text(info->name, sizeof(info->name), record->name);
	for (uint32_t i = 0; i < all->count; i++)
		info->member_count += all->tenant[i] == index;
	info->promised =
		info->request && (all->present[index] || tenant_is_kept(segment, index, now_ns));
	if (!info->member_count)
		return 0;
	member = calloc(info->member_count, sizeof(*member));
	if (!member)
		return -ENOMEM;
	info->member = member;
	for (uint32_t i = 0; i < all->count; i++) {
		if (all->tenant[i] != index)
			continue;
		*member++ = all->member[i];
		info->used += all->member[i].used;
		info->credit += all->member[i].credit;
	}
	return 0;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* By the rules of admission, idle credit counted as free; and no more than the device has left. */
static void work_out_free(const struct cuquota_device_info *device,
			  struct cuquota_tenant_info *tenant)
{
	struct sum sum = {.limit = tenant->limit,
			  .request = tenant->promised ? tenant->request : 0,
			  .device_bytes = device->bytes,
			  .requests = true};
	uint64_t others = 0, left;

	for (uint32_t i = 0; i < device->tenant_count; i++) {
		const struct cuquota_tenant_info *const other = &device->tenant[i];

		if (other == tenant)
			continue;
		others += other->used;
		sum.others_bytes += sum_larger(other->used, other->promised ? other->request : 0);
	}
	left = above(device->bytes, others + tenant->used);
	tenant->free = sum_room_beside(&sum, tenant->used / CUQUOTA_UNIT, sum.others_bytes);
	if (tenant->free > left)
		tenant->free = left;
	tenant->lent = sum_lent(&sum, tenant->used, others);
}

static int read_tenants(const struct segment *segment, const struct collected *all,
			struct cuquota_device_info *device)
{
	const uint64_t now_ns = segment_now_ns();
	struct cuquota_tenant_info *tenant = calloc(segment->tenant_count, sizeof(*tenant));

	if (!tenant)
		return -ENOMEM;
	device->tenant = tenant;
	for (uint32_t i = 0; i < segment->tenant_count; i++) {
		struct cuquota_tenant_info *const info = &tenant[device->tenant_count];

		if (__atomic_load_n(&segment_tenant(segment, i)->state, __ATOMIC_ACQUIRE) !=
		    CUQUOTA_USED)
			continue;
		if (read_tenant(segment, i, all, now_ns, info))
			return -ENOMEM;
		if (!info->member_count && !info->promised && !info->administered)
			continue;
		device->tenant_count++;
		device->used += info->used;
		device->credit += info->credit;
		device->promised += info->promised ? info->request : 0;
	}
	for (uint32_t i = 0; i < device->tenant_count; i++)
		work_out_free(device, &tenant[i]);
	return 0;
}

static int read_device(const struct cuquota *ledgers, const char *uuid,
		       struct cuquota_device_info *device)
{
	struct collected all = {0};
	struct segment segment;
	int rc;

	memset(device, 0, sizeof(*device));
	copy_text(device->uuid, sizeof(device->uuid), uuid);
	device->error = segment_open(&segment, ledgers->folder, uuid, 0, SEGMENT_READER,
				     device->why);
	if (device->error)
		return 0;
	device->bytes = __atomic_load_n(&segment.header->device_bytes, __ATOMIC_RELAXED);
	rc = collect(&segment, &all);
	if (!rc)
		rc = read_tenants(&segment, &all, device);
	free(all.member);
	free(all.tenant);
	free(all.present);
	segment_close(&segment);
	return rc;
}

static void forget_snapshot(struct cuquota *ledgers)
{
	for (uint32_t i = 0; i < ledgers->snapshot.device_count; i++) {
		const struct cuquota_device_info *const device = &ledgers->device[i];

		for (uint32_t j = 0; j < device->tenant_count; j++)
			free((void *)(uintptr_t)device->tenant[j].member);
		free((void *)(uintptr_t)device->tenant);
	}
	ledgers->snapshot.device_count = 0;
}

static bool names_a_ledger(const char *name, char uuid[CUQUOTA_UUID_TEXT])
{
	const size_t length = strlen(name);
	struct uuid ignored;

	if (length <= strlen(ENDING) || length - strlen(ENDING) >= CUQUOTA_UUID_TEXT ||
	    strcmp(name + length - strlen(ENDING), ENDING))
		return false;
	memset(uuid, 0, CUQUOTA_UUID_TEXT);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the rest of it is zeroed */
	memcpy(uuid, name, length - strlen(ENDING));
	return !uuid_parse(span_of(uuid), &ignored);
}

static int by_uuid(const void *a, const void *b)
{
	return strcmp(((const struct cuquota_device_info *)a)->uuid,
		      ((const struct cuquota_device_info *)b)->uuid);
}

static int add_device(struct cuquota *ledgers, const char *uuid)
{
	const uint32_t count = ledgers->snapshot.device_count;
	struct cuquota_device_info *device = ledgers->device;

	if (count == ledgers->room) {
		device = realloc(device, (count + 16) * sizeof(*device));
		if (!device)
			return -ENOMEM;
		ledgers->device = device;
		ledgers->room = count + 16;
	}
	ledgers->snapshot.device_count++;
	return read_device(ledgers, uuid, &device[count]);
}

int cuquota_open(const char *folder, struct cuquota **ledgers)
{
	struct cuquota *opened;
	struct text text;
	DIR *stream;

	if (!folder)
		folder = settings_folder(settings_get());
	stream = opendir(folder);
	if (!stream)
		return -errno;
	closedir(stream);
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	text_init(&text, opened->folder, sizeof(opened->folder));
	text_add(&text, "%s", folder);
	opened->snapshot.folder = opened->folder;
	*ledgers = opened;
	return 0;
}

int cuquota_snapshot(struct cuquota *ledgers, const struct cuquota_snapshot **snapshot)
{
	char uuid[CUQUOTA_UUID_TEXT];
	const struct dirent *entry;
	DIR *stream;
	int rc = 0;

	forget_snapshot(ledgers);
	stream = opendir(ledgers->folder);
	if (!stream)
		return -errno;
	while (!rc && (entry = readdir(stream)))
		if (names_a_ledger(entry->d_name, uuid))
			rc = add_device(ledgers, uuid);
	closedir(stream);
	if (rc)
		return rc;
	if (ledgers->snapshot.device_count)
		qsort(ledgers->device, ledgers->snapshot.device_count, sizeof(*ledgers->device),
		      by_uuid);
	ledgers->snapshot.device = ledgers->device;
	ledgers->snapshot.taken_ns = segment_now_ns();
	*snapshot = &ledgers->snapshot;
	return 0;
}

void cuquota_close(struct cuquota *ledgers)
{
	if (!ledgers)
		return;
	forget_snapshot(ledgers);
	free(ledgers->device);
	free(ledgers);
}

const char *cuquota_strerror(int error)
{
	return error ? text_errno(error) : "no error";
}
