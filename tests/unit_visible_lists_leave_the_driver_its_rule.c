/*
 * report: UV-01
 * Random cards, random lists of the tenant and random CUDA_VISIBLE_DEVICES of the program, 10,000
 * of them: what the driver shows has the count, the order and the UUIDs that it shows by its own
 * rule on a machine where the hidden cards were pulled out. The driver's rule is simgpu's, compiled
 * in; so are policy/visible*.c, so that each case begins with a list that nobody has settled.
 */
#include "helper.h"

#include "base/settings.h"

#include <ctype.h>
#include <stdbool.h>
#include <strings.h>

static struct settings told;
static const struct settings *told_settings(void)
{
	return &told;
}
#define settings_get told_settings
#include "policy/visible_ask.c"
#include "policy/visible_list.c"
#include "policy/visible.c"
#undef settings_get

#include "simgpu/visible.c"

#define CASES 10000
#define MOST 8 /* cards */
#define TEXT 2048

struct driver driver_table;
struct nvml_driver nvml_driver_table;
bool driver_ready, nvml_driver_ready;

static struct config machine; /* as it is */
static struct config left;    /* without the hidden cards */

static char list[TEXT], callers[TEXT], order[64]; /* NAME=value, "" when not set */
static unsigned number;				  /* of the case */

#undef FAIL
#define FAIL(...)                                                                \
	((void)dprintf(2, "case %u, of %u cards, %s left: %s; %s; %s\n", number, \
		       machine.cards, left_text(), list, callers, order),        \
	 test_fail(__FILE__, __LINE__, __VA_ARGS__))

static const char *left_text(void)
{
	static char text[MOST * 48 + 1];
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < left.cards; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", left.card[i].uuid_text);
	return text;
}

/* ---- chance ---- */

static uint64_t chance_state = 0x9e3779b97f4a7c15ull;

static unsigned chance(unsigned below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (unsigned)(chance_state >> 33) % below;
}

/* ---- the machine ---- */

static unsigned shown[CARDS_MAX], shown_count, inits;

static CUresult sim_init(unsigned flags)
{
	inits++;
	shown_count = visible_resolve(&machine, shown);
	return shown_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

static CUresult sim_count(int *count)
{
	*count = (int)shown_count;
	return shown_count ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult sim_get(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult sim_uuid(CUuuid *uuid, CUdevice device)
{
	memcpy(uuid->bytes, machine.card[shown[device]].uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

static nvmlReturn_t sim_nvml_up(void)
{
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_count(unsigned *count)
{
	*count = machine.cards;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_by_index(unsigned index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)&machine.card[index];
	return index < machine.cards ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t sim_nvml_uuid(nvmlDevice_t device, char *uuid, unsigned length)
{
	snprintf(uuid, length, "%s", ((const struct card *)device)->uuid_text);
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_places(nvmlDevice_t device, unsigned *count)
{
	*count = 0;
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
	nvml_driver_table.nvmlDeviceGetUUID = sim_nvml_uuid;
	nvml_driver_ready = true;
}

/* Half of the cards begin as an earlier one does, some up to the last half of a byte. */
static void make_machine(void)
{
	machine.cards = 1 + chance(MOST);
	machine.devices = machine.cards; /* none is divided */
	for (unsigned i = 0; i < machine.cards; i++) {
		struct card *const card = &machine.card[i];
		const unsigned same = i && chance(2) ? 1 + chance(15) : 0;
		struct uuid uuid = {.mig = 0};

		for (unsigned k = 0; k < 16; k++)
			card->uuid[k] = (unsigned char)chance(256);
		if (same)
			memcpy(card->uuid, machine.card[chance(i)].uuid, same);
		card->uuid[15] = (unsigned char)(card->uuid[15] << 4 | i); /* never two alike */
		memcpy(uuid.bytes, card->uuid, sizeof(uuid.bytes));
		uuid_format(&uuid, card->uuid_text);
		machine.cuda_order[i] = i;
	}
	for (unsigned i = machine.cards; i > 1; i--) {
		const unsigned k = chance(i), swap = machine.cuda_order[k];

		machine.cuda_order[k] = machine.cuda_order[i - 1];
		machine.cuda_order[i - 1] = swap;
	}
}

/* ---- the tenant's list, and which cards it leaves ---- */

/* The beginning of a card's name, from one digit to all; sometimes of no card's. In any case. */
static void write_name(char *out, const struct card *card, bool any_case)
{
	const unsigned whole = (unsigned)strlen(card->uuid_text);
	const unsigned length = chance(2) ? whole : 5 + chance(whole - 4);

	snprintf(out, 64, "%.*s", (int)length, card->uuid_text);
	if (!chance(8) && out[length - 1] != '-')
		out[length - 1] = "0123456789abcdef"[chance(16)];
	for (unsigned i = any_case ? 0 : 4; out[i] && !chance(2); i++)
		out[i] = (char)(chance(2) ? toupper(out[i]) : tolower(out[i]));
}

static void leave(bool *stays, const char *key, bool *refused)
{
	unsigned found = 0, card = 0;

	if (isdigit((unsigned char)*key)) {
		if ((unsigned)atoi(key) < machine.cards)
			stays[atoi(key)] = true;
		return;
	}
	for (unsigned i = 0; i < machine.cards; i++)
		if (!strncasecmp(machine.card[i].uuid_text, key, strlen(key))) {
			card = i;
			found++;
		}
	*refused |= found > 1;
	if (found == 1)
		stays[card] = true;
}

/* Without dashes, which at the end may be there or not. */
static bool same_key(const char *a, const char *b)
{
	while (*a || *b) {
		a += *a == '-';
		b += *b == '-';
		if (tolower(*a) != tolower(*b))
			return false;
		a += *a != 0;
		b += *b != 0;
	}
	return true;
}

/* Where the driver counts in the order of the list, which is NVML's. */
static void pull_out(const bool *stays)
{
	left.cards = 0;
	for (unsigned i = 0; i < machine.cards; i++)
		if (stays[i]) {
			left.cuda_order[left.cards] = left.cards;
			left.card[left.cards++] = machine.card[i];
		}
	left.devices = left.cards;
}

/* False: it is refused. */
static bool make_list(void)
{
	char key[MOST + 2][64];
	const unsigned kind = chance(16), keys = 1 + chance(machine.cards + 1), from = chance(MOST);
	bool stays[MOST] = {false}, refused = false;
	size_t n = (size_t)sprintf(list, "CUQUOTA_VISIBLE_DEVICES=");

	if (!kind) {
		strcat(list, "all");
		left = machine;
		return true;
	}
	for (unsigned i = 0; kind > 1 && i < keys; i++) {
		const unsigned next = chance(16) ? (from + i) % machine.cards
						 : chance(machine.cards + 1);

		if (chance(2) || next == machine.cards)
			sprintf(key[i], "%u", next);
		else
			write_name(key[i], &machine.card[next], true);
		if (!chance(100)) {
			strcpy(key[i], chance(2) ? "GPU-" : "-1");
			refused = true;
		}
		for (unsigned k = 0; k < i; k++)
			refused |= same_key(key[k], key[i]);
		n += (size_t)sprintf(list + n, "%s%s%s%s", i ? "," : "", chance(4) ? "" : " ",
				     key[i], chance(4) ? "" : " ");
	}
	for (unsigned i = 0; kind > 1 && !refused && i < keys; i++)
		leave(stays, key[i], &refused);
	if (kind == 1)
		strcat(list, "none");
	pull_out(stays);
	return !refused;
}

/* ---- the program's list ---- */

static void write_ordinal(char *out, unsigned ordinal)
{
	static const char *const forms[] = {" %u", "%u ", "+%u", "%ux", "-%u", "0%u", "%u GPU-"};

	sprintf(out, chance(3) ? "%u" : forms[chance(sizeof(forms) / sizeof(*forms))], ordinal);
	if (!chance(40))
		strcpy(out, chance(2) ? "" : "99999999999999999999");
}

static void make_callers(void)
{
	const bool names = chance(2);
	const unsigned entries = chance(left.cards + 2), from = chance(MOST);
	size_t n = (size_t)sprintf(callers, "CUDA_VISIBLE_DEVICES=");

	for (unsigned i = 0; i < entries; i++) {
		/* Mostly none twice, none that is hidden, and none beyond the last. */
		const unsigned next = left.cards && chance(16) ? (from + i) % left.cards
							       : chance(MOST);
		char entry[80];

		if (names == (chance(16) != 0)) {
			write_name(entry,
				   left.cards > next && chance(16)
					   ? &left.card[next]
					   : &machine.card[chance(machine.cards)],
				   !chance(16));
			if (!chance(16))
				memmove(entry, entry + 4, strlen(entry + 4) + 1);
			if (!chance(8))
				strcat(entry, " ");
		} else {
			write_ordinal(entry, next);
		}
		n += (size_t)sprintf(callers + n, "%s%s%s", i ? "," : "",
				     chance(16) ? "" : " ", entry);
	}
	if (!chance(8))
		callers[0] = 0;
	snprintf(order, sizeof(order), "%s", chance(4) ? "" : "CUDA_DEVICE_ORDER=PCI_BUS_ID");
}

/* ---- one case ---- */

static void forget(void)
{
	memset(settled, 0, sizeof(settled));
	memset(lists, 0, sizeof(lists));
	trouble = 0;
	*verified() = false;
	breached = false;
	inits = 0;
	shown_count = 0;
}

static void check_shown(CUresult rc)
{
	unsigned want[CARDS_MAX];
	const unsigned count = visible_resolve(&left, want);

	CHECK_EQ(inits, 1u);
	CHECK_EQ(shown_count, count);
	CHECK_EQ((int)rc, count ? (int)CUDA_SUCCESS : (int)CUDA_ERROR_NO_DEVICE);
	for (unsigned i = 0; i < count; i++)
		CHECK_STR(machine.card[shown[i]].uuid_text, left.card[want[i]].uuid_text);
	CHECK_EQ((int)visible_check(), (int)CUDA_SUCCESS);
}

static bool try_one(void)
{
	char first[] = "A=1";
	char *pairs[4] = {first};
	char **const kept = environ;
	const char *source[2] = {list, NULL};
	unsigned n = 1;
	bool good;
	CUresult rc;

	make_machine();
	good = make_list();
	make_callers();
	settings_parse(&(struct settings_source){source, ""}, &told);
	forget();
	if (callers[0])
		pairs[n++] = callers;
	if (order[0])
		pairs[n++] = order;
	environ = pairs;
	rc = visible_init(0);
	for (unsigned i = 0; i <= n; i++)
		CHECK_EQ((uintptr_t)environ[i], (uintptr_t)(i < n ? pairs[i] : NULL));
	if (good) {
		check_shown(rc);
	} else {
		CHECK_EQ((int)rc, (int)CUDA_ERROR_NOT_PERMITTED);
		CHECK_EQ(inits, 0u);
	}
	if (environ != pairs)
		free(environ);
	own = NULL;
	own_room = 0;
	environ = kept;
	return good && shown_count > 1;
}

int main(void)
{
	unsigned several = 0;

	log_setup(LOG_OFF, NULL);
	for (number = 0; number < CASES; number++)
		several += try_one();
	printf("%u cases, %u with several devices\n", number, several);
	CHECK_GE(several, CASES / 10u);
	return 0;
}
