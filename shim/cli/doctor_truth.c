/*
 * What the answers of `cuquota doctor`'s children are held against: the devices of the machine, as
 * the driver shows them when the library stands aside, the settings, and the ledgers.
 */
#include "cli/cli.h"
#include "cli/doctor.h"

#include "base/identity.h"
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Without the library, however it comes. */
static const char *const bare[] = {"LD_PRELOAD", "CUQUOTA_DISABLE=1", "CUDA_VISIBLE_DEVICES",
				   "CUQUOTA_LOG=off", NULL};

static struct real_device *device_of(struct truth *truth, const char *uuid)
{
	for (unsigned i = 0; i < truth->count; i++)
		if (!strcmp(truth->device[i].uuid, uuid))
			return &truth->device[i];
	return NULL;
}

const struct real_device *truth_exactly(const struct truth *truth, const char *uuid)
{
	return device_of((struct truth *)(uintptr_t)truth, uuid);
}

const struct real_device *truth_device(const struct truth *truth, const char *uuid)
{
	const size_t kind = strlen("GPU-");

	for (unsigned i = 0; strlen(uuid) > kind && i < truth->count; i++) {
		const struct real_device *const device = &truth->device[i];

		if (device->cuda && (!strcmp(device->uuid + kind, uuid + kind) ||
				     (*device->gpu && !strcmp(device->gpu, uuid))))
			return device;
	}
	return truth_exactly(truth, uuid);
}

unsigned truth_counted(const struct truth *truth, bool cuda, bool visible)
{
	unsigned count = 0;

	for (unsigned i = 0; i < truth->count; i++)
		count += (cuda ? truth->device[i].cuda : !*truth->device[i].gpu) &&
			 (!visible || truth->device[i].visible);
	return count;
}

static struct real_device *device_add(struct truth *truth, const char *uuid)
{
	struct real_device *device = device_of(truth, uuid);

	if (device || truth->count == DOCTOR_DEVICES)
		return device;
	device = &truth->device[truth->count++];
	snprintf(device->uuid, sizeof(device->uuid), "%s", uuid);
	return device;
}

static void put(char *to, size_t size, const char *word)
{
	if (strcmp(word, "-") != 0)
		snprintf(to, size, "%s", word);
}

/* The line after these words, to be taken apart; NULL if it begins otherwise. */
static char *words_of(char *line, const char *words)
{
	return after(line, words) ? line + strlen(words) : NULL;
}

/* In NVML's order; what CUDA alone has comes last. */
static void read_devices(struct truth *truth, const struct answer *answer)
{
	for (unsigned i = 0; i < answer->count; i++) {
		char *rest = words_of(answer->line[i], "nvml ");
		struct real_device *const device =
			rest ? device_add(truth, next_word(&rest)) : NULL;

		if (!device)
			continue;
		put(device->pci, sizeof(device->pci), next_word(&rest));
		put(device->serial, sizeof(device->serial), next_word(&rest));
		parse_number(next_word(&rest), 10, &device->bytes);
		device->divided = *next_word(&rest) == '1';
		truth->ordered = true;
	}
	for (unsigned i = 0; i < answer->count; i++) {
		char *rest = words_of(answer->line[i], "cuda ");
		struct real_device *const device =
			rest ? device_add(truth, next_word(&rest)) : NULL;

		if (!device)
			continue;
		put(device->pci, sizeof(device->pci), next_word(&rest));
		parse_number(next_word(&rest), 10, &device->bytes);
		put(device->gpu, sizeof(device->gpu), next_word(&rest));
		device->cuda = true;
	}
}

static bool any_divided(const struct truth *truth)
{
	for (unsigned i = 0; i < truth->count; i++)
		if (truth->device[i].divided)
			return true;
	return false;
}

static bool names(const struct device_key *key, const struct real_device *device, unsigned index)
{
	struct uuid uuid;

	if (key->kind == KEY_INDEX)
		return key->index == index;
	return !uuid_parse(span_of(device->uuid), &uuid) && uuid_name_matches(&key->name, &uuid);
}

static void settle(struct truth *truth)
{
	const struct visible_list *const list = &truth->settings.visible;

	/* Of instances CUDA shows one: which, where a list hides some, it alone can tell. */
	truth->settled = list->kind != VISIBLE_LIST || !any_divided(truth);
	for (unsigned k = 0; list->kind == VISIBLE_LIST && k < list->count; k++) {
		truth->settled &= list->key[k].kind != KEY_UUID || !list->key[k].name.uuid.mig;
		truth->settled &= list->key[k].kind != KEY_INDEX || truth->ordered;
	}
	for (unsigned i = 0; i < truth->count; i++) {
		struct real_device *const device = &truth->device[i];

		const struct real_device *const gpu = device_of(truth, device->gpu);

		device->visible = list->kind == VISIBLE_ALL || (gpu && gpu->visible);
		for (unsigned k = 0; list->kind == VISIBLE_LIST && k < list->count; k++)
			device->visible |= names(&list->key[k], device, i);
		truth->visible += device->visible;
	}
}

/* What holds by the settings. An instance has no place among the GPUs. */
static void read_limits(struct truth *truth)
{
	unsigned place = 0;

	for (unsigned i = 0; i < truth->count; i++) {
		struct real_device *const device = &truth->device[i];
		struct uuid uuid;

		device->limit = AMOUNT_UNLIMITED;
		if (!device->visible || uuid_parse(span_of(device->uuid), &uuid))
			continue;
		device->denied = (device->divided ? settings_limit_divided : settings_limit)(
					 &truth->settings, &uuid, *device->gpu ? UINT_MAX : place++,
					 device->bytes, &device->limit) != 0;
	}
}

static const struct cuquota_tenant_info *
tenant_on(const struct truth *truth, const struct cuquota_snapshot *now, const char *uuid)
{
	for (uint32_t i = 0; i < now->device_count; i++)
		for (uint32_t k = 0; k < now->device[i].tenant_count; k++)
			if (!strcmp(now->device[i].uuid, uuid) &&
			    !strcmp(now->device[i].tenant[k].name, truth->tenant))
				return &now->device[i].tenant[k];
	return NULL;
}

static const struct cuquota_snapshot *ledgers_now(const struct truth *truth)
{
	static struct cuquota *ledgers;
	const struct cuquota_snapshot *now;

	if (!ledgers && cuquota_open(settings_folder(&truth->settings), &ledgers))
		return NULL;
	return cuquota_snapshot(ledgers, &now) ? NULL : now;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Would a newcomer with these settings lower what the tenant has now? */
static bool lowers(const struct real_device *device, const struct cuquota_tenant_info *tenant)
{
	return device->visible && tenant && tenant->member_count && !tenant->administered &&
	       device->limit < least(tenant->limit, device->bytes);
}

void truth_expect(struct truth *truth)
{
	const struct cuquota_snapshot *const now = ledgers_now(truth);

	truth->tightens = truth->kept = false;
	for (unsigned i = 0; i < truth->count; i++) {
		const struct cuquota_tenant_info *const tenant =
			now ? tenant_on(truth, now, truth->device[i].uuid) : NULL;

		truth->tightens |= lowers(&truth->device[i], tenant);
		/* The first who comes would begin it anew. */
		truth->kept |= tenant && tenant->promised && !tenant->member_count;
	}
	for (unsigned i = 0; i < truth->count; i++) {
		struct real_device *const device = &truth->device[i];
		const struct cuquota_tenant_info *const tenant =
			now && !truth->kept ? tenant_on(truth, now, device->uuid) : NULL;
		/* Those who look bring no limit where it would lower the tenant's. */
		uint64_t bytes = truth->tightens && !truth->kept ? AMOUNT_UNLIMITED : device->limit;

		if (tenant && tenant->administered)
			bytes = tenant->limit;
		else if (tenant && tenant->member_count)
			bytes = least(tenant->limit, bytes);
		device->expected = least(bytes, device->bytes);
	}
	/* An instance has no more than its GPU's limit. */
	for (unsigned i = 0; i < truth->count; i++) {
		const struct real_device *const gpu = device_of(truth, truth->device[i].gpu);

		if (gpu)
			truth->device[i].expected = least(truth->device[i].expected, gpu->expected);
	}
}

static void no_device(struct truth *truth, const struct answer *answer)
{
	const char *const error = answer_find(answer, "error "), *const init = answer_find(answer,
											   "init ");

	if (init && strcmp(init, "0") != 0)
		snprintf(truth->why, sizeof(truth->why),
			 "the driver does not start (cuInit: error %s)", init);
	else if (error)
		snprintf(truth->why, sizeof(truth->why), "%s", error);
	else
		snprintf(truth->why, sizeof(truth->why), "%s",
			 *answer->end ? answer->end : "the driver shows none");
}

bool truth_find(struct truth *truth)
{
	const struct settings_source source = {(const char *const *)environ, ""};
	static struct answer answer;

	settings_parse(&source, &truth->settings);
	log_setup(LOG_OFF, "");
	if (truth->settings.tenant[0])
		strcpy(truth->tenant, truth->settings.tenant);
	else
		identity_derive(&identity_proc, truth->tenant);
	child_ask(&answer, "real", bare, NULL);
	read_devices(truth, &answer);
	if (!truth->count)
		no_device(truth, &answer);
	child_forget(&answer);
	settle(truth);
	read_limits(truth);
	return truth->count != 0;
}

static uint64_t used_on(const struct truth *truth, const struct cuquota_snapshot *now,
			const char *uuid)
{
	const struct cuquota_tenant_info *const tenant = now ? tenant_on(truth, now, uuid) : NULL;

	return tenant ? tenant->used : 0;
}

static void report_device(const struct truth *truth, const struct cuquota_snapshot *now,
			  const struct real_device *device)
{
	char limit[SIZE_TEXT], all[SIZE_TEXT], used[SIZE_TEXT];

	size_format(device->bytes, all);
	if (!device->visible)
		report(VERDICT_OK, "device", "%s is hidden by CUQUOTA_VISIBLE_DEVICES",
		       device->uuid);
	else if (device->denied)
		report(VERDICT_WRONG, "device",
		       "%s: what CUQUOTA_MEMORY_LIMIT or _REQUEST says cannot hold on a device of "
		       "%s, so no "
		       "memory can be had there; correct it (`cuquota help settings`)",
		       device->uuid, all);
	else if (device->divided)
		report(VERDICT_NOTE, "device",
		       "%s: divided into MIG instances, which together have %s of %s, used %s by "
		       "tenant %s; a limit for the GPU bounds the sum",
		       device->uuid, size_format(device->expected, limit), all,
		       size_format(used_on(truth, now, device->uuid), used), truth->tenant);
	else if (device->expected == device->bytes && device->limit == AMOUNT_UNLIMITED)
		report(VERDICT_NOTE, "device",
		       "%s: no limit is set for it, so all of its %s may be taken; set "
		       "CUQUOTA_MEMORY_LIMIT, or a key for it",
		       device->uuid, all);
	else
		report(VERDICT_OK, "device", "%s: limit %s of %s, used %s by tenant %s",
		       device->uuid, size_format(device->expected, limit), all,
		       size_format(used_on(truth, now, device->uuid), used), truth->tenant);
}

static bool any_rule(const struct truth *truth)
{
	bool any = truth->visible < truth->count;

	for (unsigned i = 0; i < truth->count; i++)
		any |= truth->device[i].limit != AMOUNT_UNLIMITED ||
		       truth->device[i].expected < truth->device[i].bytes;
	return any;
}

void truth_report(struct truth *truth)
{
	const struct settings *const settings = &truth->settings;
	const struct cuquota_snapshot *now;

	truth_expect(truth);
	now = ledgers_now(truth);
	for (unsigned i = 0; i < truth->count; i++)
		report_device(truth, now, &truth->device[i]);
	if (!any_rule(truth))
		report(VERDICT_WRONG, "limit",
		       "nothing is limited here and no device hidden; set CUQUOTA_MEMORY_LIMIT, as "
		       "in "
		       "CUQUOTA_MEMORY_LIMIT=8G");
	if (!truth->settled)
		report(VERDICT_UNCHECKED, "visible",
		       "which devices may be seen cannot be told from here, as %s: hiding is not "
		       "checked",
		       truth->ordered
			       ? "GPUs are divided into MIG instances, or CUQUOTA_VISIBLE_DEVICES "
				 "names some"
			       : "NVML does not start and CUQUOTA_VISIBLE_DEVICES has indices");
	if (truth->tightens)
		report(VERDICT_NOTE, "tightens",
		       "a program that is started here lowers the limit of tenant %s for all its "
		       "processes; if that is not meant, give it a tenant of its own",
		       truth->tenant);
	if (settings->on_error == ON_ERROR_ALLOW)
		report(VERDICT_NOTE, "on-error",
		       "CUQUOTA_ON_ERROR=allow: where the ledger or a setting is refused, programs "
		       "run "
		       "without a limit; set it to deny");
	if (identity_in_container(&identity_proc) &&
	    !strcmp(settings_folder(settings), SETTINGS_FOLDER_PRIVATE))
		report(VERDICT_NOTE, "folder",
		       "the ledgers lie in " SETTINGS_FOLDER_PRIVATE
		       ", which is this container's own: a "
		       "limit holds, a request does not; mount " SETTINGS_FOLDER
		       " into all containers");
}
