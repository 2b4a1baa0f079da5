/*
 * report: UV-01
 * Random cards, divided and whole, random lists of the tenant and random CUDA_VISIBLE_DEVICES of
 * the program, 10,000 of them: what the driver shows has the count, the order and the UUIDs that it
 * shows by its own rule on a machine where the hidden devices were pulled out. The driver's rule is
 * simgpu's, compiled in; so are policy/visible*.c, so that each case begins with a list that nobody
 * has settled.
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

#include "machine.h"

#define CASES 10000
#define TEXT 2048
#define NAME_TEXT 64

static struct config left; /* without the hidden devices */

static char list[TEXT], callers[TEXT], order[64]; /* NAME=value, "" when not set */
static unsigned number;				  /* of the case */

#undef FAIL
#define FAIL(...)                                                                \
	((void)dprintf(2, "case %u, of %u cards, %s left: %s; %s; %s\n", number, \
		       machine.cards, left_text(), list, callers, order),        \
	 test_fail(__FILE__, __LINE__, __VA_ARGS__))

static const char *left_text(void)
{
	static char text[CARDS_MAX * NAME_TEXT + 1];
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < left.devices; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", left.card[i].uuid_text);
	return text;
}

/* ---- the tenant's list, and which devices it leaves ---- */

/* The beginning of a device's name, from one digit to all; of an old name all. Sometimes it is of
 * none. In any case. */
static void write_name(char *out, const struct card *card, bool any_case)
{
	const bool old = card->gpu_instance && (before_r470 || !chance(3));
	const char *const name = old && !before_r470 ? card->other_text : card->uuid_text;
	const unsigned whole = (unsigned)strlen(name);
	const unsigned length = old || chance(2) ? whole : 5 + chance(whole - 4);

	snprintf(out, NAME_TEXT, "%.*s", (int)length, name);
	if (!chance(8) && out[length - 1] != '-')
		out[length - 1] = "0123456789abcdef"[chance(old ? 10 : 16)];
	for (unsigned i = any_case ? 0 : 4; out[i] && !chance(2); i++)
		out[i] = (char)(chance(2) ? toupper(out[i]) : tolower(out[i]));
}

static bool bears(const struct card *card, const char *key)
{
	const char *const old = before_r470 ? card->uuid_text : card->other_text;

	if (strchr(key, '/'))
		return card->gpu_instance && !strcasecmp(old, key);
	return !(card->gpu_instance && before_r470) &&
	       !strncasecmp(card->uuid_text, key, strlen(key));
}

static void leave(bool *stays, const char *key, bool *refused)
{
	unsigned found = 0, device = 0;

	if (isdigit((unsigned char)*key)) {
		if ((unsigned)atoi(key) < machine.cards)
			stays[atoi(key)] = true;
		return;
	}
	for (unsigned i = 0; i < machine.devices; i++)
		if (bears(&machine.card[i], key)) {
			device = i;
			found++;
		}
	*refused |= found > 1;
	if (found == 1)
		stays[device] = true;
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

static unsigned put(unsigned device)
{
	left.card[left.devices] = machine.card[device];
	return left.devices++;
}

/* The instances of a card that is left as a whole: found by name, and where it stands for one. */
static void put_instances(unsigned place)
{
	struct card *const card = &left.card[place];
	const unsigned from = card->first;

	card->first = left.devices;
	for (unsigned n = 0; n < card->instances; n++)
		put(from + n);
}

/* The card of instances that are left: found by name, and stands for the first of them. */
static void put_card(unsigned device, unsigned first)
{
	struct card *const card = &left.card[put(device)];

	card->first = first;
	card->instances = 1;
}

/* The driver counts in the order of the list, which is NVML's: what it has are the cards of the
 * machine that is left, instances as well as cards. What is only named through it stands behind. */
static void pull_out(const bool *stays)
{
	left.devices = 0;
	for (unsigned i = 0; i < machine.cards; i++) {
		const struct card *const card = &machine.card[i];

		if (stays[i])
			put(i);
		for (unsigned n = card->first; !stays[i] && n < card->first + card->instances; n++)
			if (stays[n])
				put(n);
	}
	left.cards = left.devices;
	for (unsigned i = 0; i < left.cards; i++) {
		const struct card *const card = &left.card[i];

		left.cuda_order[i] = i;
		if (!card->gpu_instance)
			put_instances(i);
		else if (!i || !left.card[i - 1].gpu_instance ||
			 left.card[i - 1].parent != card->parent)
			put_card(card->parent, i);
	}
}

/* False: it is refused. */
static bool make_list(void)
{
	char key[MOST + 2][NAME_TEXT];
	const unsigned kind = chance(16), keys = 1 + chance(machine.cards + 1);
	const unsigned from = chance(CARDS_MAX);
	bool stays[CARDS_MAX] = {false}, refused = false;
	size_t n = (size_t)sprintf(list, "CUQUOTA_VISIBLE_DEVICES=");

	if (!kind) {
		strcat(list, "all");
		left = machine;
		return true;
	}
	for (unsigned i = 0; kind > 1 && i < keys; i++) {
		const unsigned next = chance(16) ? (from + i) % machine.devices
						 : chance(machine.devices + 1);

		if (next == machine.devices || (next < machine.cards && chance(2)))
			sprintf(key[i], "%u", next % (machine.cards + 1));
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
	const unsigned entries = chance(left.cards + 2), from = chance(CARDS_MAX);
	size_t n = (size_t)sprintf(callers, "CUDA_VISIBLE_DEVICES=");

	for (unsigned i = 0; i < entries; i++) {
		/* Mostly none twice, none that is hidden, and none beyond the last. */
		const unsigned next = left.cards && chance(16) ? (from + i) % left.cards
							       : chance(MOST);
		char entry[80];
		const unsigned named = left.devices ? (from + i) % left.devices : 0;

		if (names == (chance(16) != 0)) {
			write_name(entry,
				   left.devices && chance(16)
					   ? &left.card[named]
					   : &machine.card[chance(machine.devices)],
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

/* Were several shown, or an instance? */
static void try_one(unsigned *several, unsigned *instances)
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
	*several += good && shown_count > 1;
	*instances += good && shown_count && machine.card[shown[0]].gpu_instance;
}

int main(void)
{
	unsigned several = 0, instances = 0;

	log_setup(LOG_OFF, NULL);
	for (number = 0; number < CASES; number++)
		try_one(&several, &instances);
	printf("%u cases, %u with several devices, %u with an instance\n", number, several,
	       instances);
	CHECK_GE(several, CASES / 20u);
	CHECK_GE(instances, CASES / 10u);
	return 0;
}
