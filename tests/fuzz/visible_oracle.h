/*
 * A machine of five devices behind a driver of ours, and what settings must mean on it: limits by
 * the entry that holds, and the devices that the driver is handed. policy/visible*.c are compiled
 * in here, so that each input begins with a list that nobody has settled. Included by the fuzz
 * target of settings.
 */
#ifndef TESTS_FUZZ_VISIBLE_ORACLE_H
#define TESTS_FUZZ_VISIBLE_ORACLE_H

#include "settings_oracle.h"

static const struct settings *told;
static const struct settings *told_settings(void)
{
	return told;
}
#define settings_get told_settings
#include "policy/visible_ask.c"
#include "policy/visible_list.c"
#include "policy/visible.c"
#undef settings_get

UNGUIDED

/* In NVML's order. The first two differ late; the last is an instance on the third. */
static const struct {
	const char *name;
	uint64_t bytes;
} machine[] = {
	{"GPU-1f2e3d4c-0000-1111-2222-333344445555", 24ull << 30},
	{"GPU-1f2e3d4c-0000-1111-2222-333344445556", 80ull << 30},
	{"GPU-a0000000-0000-0000-0000-000000000000", 16ull << 30},
	{"GPU-00000000-0000-0000-0000-000000000001", (1ull << 20) + 1},
	{"MIG-5a5a5a5a-0000-1111-2222-333344445555", 10ull << 30},
};
#define MACHINE 5u
#define GPUS 4u
#define INSTANCE 4u
#define PARENT 2u

struct driver driver_table;
struct nvml_driver nvml_driver_table;
bool driver_ready, nvml_driver_ready;

static struct uuid device_uuid(unsigned i)
{
	struct uuid uuid;

	CHECK_EQ(uuid_parse(span_of(machine[i].name), &uuid), 0);
	return uuid;
}

/* ---- the driver: shows the devices whose whole names it was handed ---- */

static char handed_text[8192]; /* CUDA_VISIBLE_DEVICES as cuInit found it */
static unsigned inits;

static CUresult sim_init(unsigned flags)
{
	const char *const value = getenv("CUDA_VISIBLE_DEVICES");

	CHECK(value);
	CHECK(strlen(value) < sizeof(handed_text));
	strcpy(handed_text, value);
	inits++;
	return CUDA_SUCCESS;
}

static CUresult sim_count(int *count)
{
	*count = 0;
	for (const char *at = handed_text; *at;
	     at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		++*count;
	return CUDA_SUCCESS;
}

static CUresult sim_get(CUdevice *device, int ordinal)
{
	const char *at = handed_text;

	for (int i = 0; i < ordinal; i++)
		at += strcspn(at, ",") + 1;
	for (unsigned i = 0; i < MACHINE; i++)
		if (strcspn(at, ",") == strlen(machine[i].name) &&
		    !strncmp(at, machine[i].name, strlen(machine[i].name))) {
			*device = (CUdevice)i;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_DEVICE;
}

static CUresult sim_uuid(CUuuid *uuid, CUdevice device)
{
	const struct uuid whole = device_uuid((unsigned)device);

	memcpy(uuid->bytes, whole.bytes, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

/* ---- NVML ---- */

static nvmlReturn_t sim_nvml_up(void)
{
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_count(unsigned *count)
{
	*count = GPUS;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_by_index(unsigned index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)(uintptr_t)&machine[index];
	return index < GPUS ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t sim_nvml_places(nvmlDevice_t device, unsigned *count)
{
	*count = device == (nvmlDevice_t)(uintptr_t)&machine[PARENT] ? 7 : 0;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_instance(nvmlDevice_t device, unsigned index, nvmlDevice_t *instance)
{
	*instance = (nvmlDevice_t)(uintptr_t)&machine[INSTANCE];
	return index == 2 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t sim_nvml_gpu_instance(nvmlDevice_t device, unsigned *id)
{
	*id = 1;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_compute_instance(nvmlDevice_t device, unsigned *id)
{
	*id = 0;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_uuid(nvmlDevice_t device, char *uuid, unsigned length)
{
	snprintf(uuid, length, "%s", *(const char *const *)device);
	return NVML_SUCCESS;
}

bool driver_aside(void)
{
	return false;
}

void driver_load(void)
{
	driver_table.cuInit = sim_init;
	driver_table.cuDeviceGetCount = sim_count;
	driver_table.cuDeviceGet = sim_get;
	driver_table.cuDeviceGetUuid = sim_uuid;
	driver_table.cuDeviceGetUuid_v2 = sim_uuid;
	driver_ready = true;
}

void nvml_driver_load(void)
{
	nvml_driver_table.nvmlInit_v2 = sim_nvml_up;
	nvml_driver_table.nvmlShutdown = sim_nvml_up;
	nvml_driver_table.nvmlDeviceGetCount_v2 = sim_nvml_count;
	nvml_driver_table.nvmlDeviceGetHandleByIndex_v2 = sim_nvml_by_index;
	nvml_driver_table.nvmlDeviceGetMaxMigDeviceCount = sim_nvml_places;
	nvml_driver_table.nvmlDeviceGetMigDeviceHandleByIndex = sim_nvml_instance;
	nvml_driver_table.nvmlDeviceGetGpuInstanceId = sim_nvml_gpu_instance;
	nvml_driver_table.nvmlDeviceGetComputeInstanceId = sim_nvml_compute_instance;
	nvml_driver_table.nvmlDeviceGetUUID = sim_nvml_uuid;
	nvml_driver_ready = true;
}

/* ---- limits on the machine ---- */

/* The entry that holds, by text: the longest prefix, then the index, then `*`. */
static const struct amount *holding(const struct device_amounts *amounts, const char *name,
				    unsigned index)
{
	const struct amount *found = NULL;
	size_t best = 0;

	for (unsigned i = 0; i < amounts->count; i++) {
		const struct device_key *const key = &amounts->entry[i].key;
		const size_t length = strlen(key->name.text);
		size_t rank = 1;

		if (key->kind == KEY_UUID)
			rank = !strncasecmp(name, key->name.text, length) ? 2 + length : 0;
		else if (key->kind == KEY_INDEX)
			rank = key->index == index ? 2 : 0;
		if (rank > best) {
			best = rank;
			found = &amounts->entry[i].amount;
		}
	}
	return found && found->kind == AMOUNT_NONE ? NULL : found;
}

static void check_device(const struct settings *settings, unsigned i)
{
	const struct uuid uuid = device_uuid(i);
	const struct amount *const limit = holding(&settings->limit, machine[i].name, i);
	const uint64_t physical = machine[i].bytes;
	uint64_t bytes = 0, asked = 0;
	int rc = settings_limit(settings, &uuid, i, physical, &bytes);

	if (!limit) {
		CHECK_EQ(rc, 0);
		CHECK_EQ(bytes, AMOUNT_UNLIMITED);
	} else if (!rc) {
		CHECK_GE(bytes, 1ull);
		CHECK_LE(bytes, physical);
		if (limit->kind == AMOUNT_BYTES)
			CHECK_EQ(bytes, limit->value < physical ? limit->value : physical);
		else
			CHECK_EQ(bytes % (1 << 20), 0ull);
	} else {
		CHECK_EQ((int)limit->kind, (int)AMOUNT_PERCENT);
	}
	rc = settings_request(settings, &uuid, i, physical, &asked);
	if (!rc) {
		CHECK_LE(asked, physical);
		CHECK_LE(asked, bytes);
	}
}

static void check_devices(const struct settings *settings)
{
	struct uuid uuid[MACHINE];

	for (unsigned i = 0; i < MACHINE; i++) {
		uuid[i] = device_uuid(i);
		check_device(settings, i);
	}
	settings_names_absent(settings, uuid, GPUS, MACHINE, false);
}

/* ---- the visible list ---- */

#define OLD_NAME "MIG-GPU-a0000000-0000-0000-0000-000000000000/1/0"

/* May the tenant see it? By text, as the list names it; an instance also where its GPU is named,
 * but that is not the instance. */
static bool is_wished(const struct settings *settings, unsigned device)
{
	for (unsigned i = 0; i < settings->visible.count; i++) {
		const struct device_key *const key = &settings->visible.key[i];
		const char *const text = key->name.text;
		struct uuid_name old;
		struct parse_error error;

		CHECK_EQ(uuid_name_parse(span_of(OLD_NAME), &old, &error), 0);
		if (key->kind == KEY_INDEX ? key->index == device && device < GPUS
		    : strchr(text, '/')	   ? device == INSTANCE && uuid_name_equal(&old, &key->name)
					   : !strncasecmp(machine[device].name, text, strlen(text)))
			return true;
	}
	return settings->visible.kind == VISIBLE_ALL ||
	       (device == INSTANCE && is_wished(settings, PARENT));
}

/* Whole names of devices that the list has, each apart by a comma. */
static void check_handed(const struct settings *settings)
{
	for (const char *at = handed_text; *at;) {
		const size_t length = strcspn(at, ",");
		unsigned found = MACHINE;

		for (unsigned i = 0; i < MACHINE; i++)
			if (length == strlen(machine[i].name) &&
			    !strncmp(at, machine[i].name, length))
				found = i;
		if (found == MACHINE && settings->visible.count > 1)
			FAIL("the driver is handed \"%s\"", handed_text);
		if (found < MACHINE && !is_wished(settings, found))
			FAIL("the driver is handed %s, which the tenant may not see",
			     machine[found].name);
		at += length;
		at += *at == ',';
		CHECK(*at || at[-1] != ',');
	}
}

static void check_visible(const struct settings *settings, const char *shown)
{
	char first[] = "A=1", last[] = "C=3";
	char *pairs[] = {first, (char *)(uintptr_t)(shown ? shown : "B=2"), last, NULL};
	char *const second = pairs[1];
	char **const kept = environ;
	const struct visible *list;
	CUresult rc;

	if (settings->disable)
		return;
	told = settings;
	memset(settled, 0, sizeof(settled));
	memset(lists, 0, sizeof(lists));
	trouble = 0;
	*verified() = false;
	breached = false;
	inits = 0;
	handed_text[0] = '\0';
	environ = pairs;
	list = visible_get(false);
	if (list && list->all) {
		environ = kept;
		CHECK(settings->visible.kind == VISIBLE_ALL ||
		      settings->on_error == ON_ERROR_ALLOW);
		return;
	}
	rc = visible_init(0);
	/* As it was, but maybe in another array. */
	for (unsigned i = 0; i < 4; i++)
		if (environ[i] != (i == 1 ? second : pairs[i]))
			FAIL("entry %u of the environment is %s", i,
			     environ[i] ? environ[i] : "missing");
	if (environ != pairs)
		free(environ);
	environ = kept;
	own = NULL;
	own_room = 0;
	if (!list) {
		CHECK_EQ((int)rc, (int)CUDA_ERROR_NOT_PERMITTED);
		CHECK_EQ(inits, 0u);
		return;
	}
	CHECK_EQ(inits, 1u);
	for (unsigned i = 1; i < list->count; i++)
		CHECK_LE(list->device[i - 1].index, list->device[i].index);
	check_handed(settings);
}

GUIDED

#endif
