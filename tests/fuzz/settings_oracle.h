/*
 * What settings must mean, worked out anew: sizes digit by digit in decimal, names as text. Shares
 * no code with the parser; only compares. Included by the fuzz target of settings.
 */
#ifndef TESTS_FUZZ_SETTINGS_ORACLE_H
#define TESTS_FUZZ_SETTINGS_ORACLE_H

#include "fuzz.h"

#include "base/settings.h"

#include <strings.h>

UNGUIDED

#define LEAST (2u << 20) /* bytes that a limit must be */
#define INDEXED "CUDA_DEVICE_MEMORY_LIMIT_"
#define FRACTION_KEPT \
	18 /* digits behind the point beyond which the parser may round down by a byte */

static bool blank(const char *text)
{
	return text[strspn(text, " \t\n\v\f\r")] == '\0';
}

/* The value under this name, NULL where it is not set or blank. */
static const char *value_of(const struct settings_source *source, const char *name)
{
	const size_t length = strlen(name);

	for (const char *const *pair = source->pairs; *pair; pair++)
		if (!strncmp(*pair, name, length) && (*pair)[length] == '=')
			return blank(*pair + length + 1) ? NULL : *pair + length + 1;
	return NULL;
}

/* A decimal number of many digits, the last FRACTIONS of them behind the point. */
#define DIGITS 300
#define FRACTIONS 120
struct decimal {
	uint8_t digit[DIGITS]; /* the lowest first */
};

static bool decimal_double(struct decimal *d)
{
	unsigned carry = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		const unsigned now = d->digit[i] * 2u + carry;

		d->digit[i] = (uint8_t)(now % 10);
		carry = now / 10;
	}
	return !carry;
}

/* Rounded down; UINT64_MAX where it is as large or larger. */
static uint64_t decimal_whole(const struct decimal *d)
{
	unsigned __int128 value = 0;

	for (unsigned i = DIGITS; i-- > FRACTIONS;)
		if ((value = value * 10 + d->digit[i]) >= UINT64_MAX)
			return UINT64_MAX;
	return (uint64_t)value;
}

/* digits[.digits] at the begin of `text`; its length, 0 if there is no such thing, -1 if it is
 * beyond us. */
static int decimal_read(const char *text, struct decimal *d, unsigned *fractions)
{
	const size_t whole = strspn(text, "0123456789");
	const size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

	memset(d, 0, sizeof(*d));
	*fractions = (unsigned)fraction;
	if (!whole || (text[whole] == '.' && !fraction))
		return 0;
	if (whole > 100 || fraction > FRACTIONS)
		return -1;
	for (size_t i = 0; i < whole; i++)
		d->digit[FRACTIONS + i] = (uint8_t)(text[whole - 1 - i] - '0');
	for (size_t i = 0; i < fraction; i++)
		d->digit[FRACTIONS - 1 - i] = (uint8_t)(text[whole + 1 + i] - '0');
	return (int)(whole + (fraction ? fraction + 1 : 0));
}

enum meaning { MEANS_REFUSAL,
	       MEANS_NONE,
	       MEANS_BYTES,
	       MEANS_PERCENT,
	       MEANS_UNKNOWN };

static bool decimal_is_zero(const struct decimal *d)
{
	for (unsigned i = 0; i < DIGITS; i++)
		if (d->digit[i])
			return false;
	return true;
}

/* A single size as a limit may be, see README.md. `slack`: how much less the parser may say. */
static enum meaning meaning_of(const char *value, uint64_t *amount, uint64_t *slack)
{
	static const char *const units[] = {"", "b", "k", "m", "g", "t"};
	char text[400];
	size_t length;
	struct decimal d;
	unsigned fractions;
	int read;

	value += strspn(value, " \t\n\v\f\r");
	if (strlen(value) >= sizeof(text))
		return MEANS_UNKNOWN;
	strcpy(text, value);
	for (length = strlen(text); length && strchr(" \t\n\v\f\r", text[length - 1]); length--)
		text[length - 1] = '\0';
	if (!strcasecmp(text, "none"))
		return MEANS_NONE;
	read = decimal_read(text, &d, &fractions);
	if (read < 0)
		return MEANS_UNKNOWN;
	if (!read)
		return MEANS_REFUSAL;
	*slack = fractions > FRACTION_KEPT;
	if (!strcmp(text + read, "%")) {
		const uint64_t whole = decimal_whole(&d);

		*amount = 0;
		for (unsigned i = FRACTIONS + 3; i-- > FRACTIONS - 9;)
			*amount = *amount * 10 + d.digit[i];
		if (fractions > FRACTION_KEPT)
			return MEANS_UNKNOWN;
		return whole > 100 || *amount > 100000000000 || decimal_is_zero(&d) ? MEANS_REFUSAL
										    : MEANS_PERCENT;
	}
	for (unsigned i = 0; i < 6; i++) {
		const char *const rest = text + read + strlen(units[i]);

		if (strncasecmp(text + read, units[i], strlen(units[i])) ||
		    !(!*rest || (i > 1 && (!strcasecmp(rest, "i") || !strcasecmp(rest, "b") ||
					   !strcasecmp(rest, "ib")))))
			continue;
		for (unsigned bit = 0; i > 1 && bit < 10 * (i - 1); bit++)
			if (!decimal_double(&d))
				return MEANS_UNKNOWN;
		*amount = decimal_whole(&d);
		return *amount < LEAST || *amount == UINT64_MAX ? MEANS_REFUSAL : MEANS_BYTES;
	}
	return MEANS_REFUSAL;
}

/* For HAMi-core nothing but zeros means none: "0", "0.0", "0m". */
static bool hami_zero(const char *value)
{
	return value && strpbrk(value, "0123456789") && !strpbrk(value, "123456789") &&
	       value[strspn(value, " \t\n\v\f\r0.bkmgtiBKMGTI")] == '\0';
}

static void check_single(const char *value, const struct settings *settings)
{
	uint64_t amount = 0, slack = 0;
	const enum meaning meaning = meaning_of(value, &amount, &slack);
	const struct device_amount *const entry = &settings->limit.entry[0];

	if (strpbrk(value, ",=") || meaning == MEANS_UNKNOWN)
		return;
	if (meaning == MEANS_REFUSAL) {
		if (!settings->refused)
			FAIL("limit \"%s\" is accepted", value);
		return;
	}
	if (settings->refused)
		return; /* maybe of another value */
	CHECK_EQ((int)entry->key.kind, (int)KEY_ANY);
	CHECK_EQ((int)entry->amount.kind, meaning == MEANS_NONE	   ? (int)AMOUNT_NONE
					  : meaning == MEANS_BYTES ? (int)AMOUNT_BYTES
								   : (int)AMOUNT_PERCENT);
	if (meaning != MEANS_NONE &&
	    (entry->amount.value > amount || entry->amount.value + slack < amount))
		FAIL("limit \"%s\" is %llu, want %llu", value,
		     (unsigned long long)entry->amount.value, (unsigned long long)amount);
}

static bool has_index(const struct device_amounts *amounts, unsigned long index)
{
	for (unsigned i = 0; i < amounts->count; i++)
		if (amounts->entry[i].key.kind == KEY_INDEX && amounts->entry[i].key.index == index)
			return true;
	return false;
}

/* A limit that is written is a limit, or is refused. */
static void check_limit(const struct settings_source *source, const struct settings *settings)
{
	const char *const own = value_of(source, "CUQUOTA_MEMORY_LIMIT");
	const char *const hami = value_of(source, "CUDA_DEVICE_MEMORY_LIMIT");
	const char *value = own;

	if (settings->disable)
		return;
	if (!value && !hami_zero(hami))
		value = hami;
	if (!value)
		value = value_of(source, "NVIDIA_GPU_MEMORY_LIMIT");
	if (value) {
		if (!settings->refused && !settings->limit.count)
			FAIL("limit \"%s\" is neither refused nor held", value);
		check_single(value, settings);
	}
	for (const char *const *pair = source->pairs; *pair && !own; pair++) {
		const size_t prefix = strlen(INDEXED);
		char *end;

		if (strncmp(*pair, INDEXED, prefix) || !strchr("0123456789", (*pair)[prefix]) ||
		    !(*pair)[prefix])
			continue;
		if (!has_index(&settings->limit, strtoul(*pair + prefix, &end, 10)) &&
		    *end == '=' && !blank(end + 1) && !hami_zero(end + 1) && !settings->refused)
			FAIL("%s is neither refused nor held", *pair);
	}
}

static size_t longest_value(const struct settings_source *source, const char *name, size_t length)
{
	size_t longest = 0;

	for (const char *const *pair = source->pairs; *pair; pair++)
		if (!strncmp(*pair, name, length) && (*pair)[length] == '=' &&
		    strlen(*pair + length + 1) > longest)
			longest = strlen(*pair + length + 1);
	return longest;
}

/* NAME="value" is refused at character N: reason; way out */
static void check_refusal(const struct settings_source *source, const char *note)
{
	static const char words[] = " is refused at character ";
	const size_t origin = source->origin[0] ? strlen(source->origin) + 2 : 0;
	const char *const name = note + origin;
	const char *const equals = strchr(name, '=');
	const char *at = note, *reason, *found;
	unsigned long position;
	char *end;

	if (origin && strncmp(note, source->origin, strlen(source->origin)))
		FAIL("does not say where it stands: %s", note);
	while ((found = strstr(
			at, words))) /* the value may hold the words too: the last ones are ours */
		at = found + 1;
	if (!equals || at == note)
		FAIL("names no variable or place: %s", note);
	position = strtoul(at + strlen(words) - 1, &end, 10);
	reason = end + 2;
	/* A very long name is cut. */
	if (position < 1 ||
	    (equals[-1] != '.' &&
	     position > longest_value(source, name, (size_t)(equals - name)) + 1) ||
	    strncmp(end, ": ", 2) || strcspn(reason, ";") < 5 ||
	    strlen(reason) < strcspn(reason, ";") + 5)
		FAIL("no position, reason or way out: %s", note);
}

static void check_notes(const struct settings_source *source, const struct settings *settings,
			const struct settings *again)
{
	unsigned errors = 0;

	CHECK_EQ(settings->notes, again->notes);
	CHECK_EQ(settings->refused, again->refused);
	CHECK_LE(settings->notes, (unsigned)SETTINGS_NOTES);
	for (unsigned i = 0; i < settings->notes; i++) {
		const struct settings_note *const note = &settings->note[i];

		CHECK_STR(note->text, again->note[i].text);
		for (const char *c = note->text; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				FAIL("a control character in: %s", note->text);
		if (note->level != LOG_ERROR)
			continue;
		errors++;
		check_refusal(source, note->text);
	}
	CHECK_EQ(settings->refused, errors > 0);
	CHECK(settings->refused || !settings->refused_visible);
}

static void check_key(const struct device_key *key)
{
	struct uuid_name name;
	struct parse_error error;
	char text[UUID_TEXT];
	struct uuid uuid;

	if (key->kind != KEY_UUID)
		return;
	CHECK_EQ(uuid_name_parse(span_of(key->name.text), &name, &error), 0);
	CHECK(uuid_name_equal(&name, &key->name));
	CHECK_STR(name.text, key->name.text);
	if (name.digits != 32)
		return;
	uuid_format(&key->name.uuid, text);
	if (name.uuid.mig != UUID_MIG_OLD) /* its numbers may begin with 0 */
		CHECK_EQ(strncasecmp(text, name.text, strlen(text)), 0);
	CHECK_EQ(uuid_parse(span_of(text), &uuid), 0);
	CHECK(uuid_equal(&uuid, &key->name.uuid));
	CHECK(uuid_name_matches(&name, &uuid));
}

static void check_amounts(const struct device_amounts *amounts)
{
	struct parse_error error;
	struct amount amount;
	char text[SIZE_TEXT];

	CHECK_LE(amounts->count, (unsigned)DEVICES_MAX);
	for (unsigned i = 0; i < amounts->count; i++) {
		const struct device_amount *const entry = &amounts->entry[i];

		check_key(&entry->key);
		for (unsigned j = 0; j < i; j++)
			CHECK(!device_key_equal(&entry->key, &amounts->entry[j].key));
		CHECK(strlen(size_format(entry->amount.value, text)) < SIZE_TEXT);
		if (entry->amount.kind != AMOUNT_BYTES)
			continue;
		snprintf(text, sizeof(text), "%lluB", (unsigned long long)entry->amount.value);
		CHECK_EQ(size_parse(span_of(text), SIZE_ZERO, &amount, &error), 0);
		CHECK_EQ(amount.value, entry->amount.value);
	}
}

static void check_names(const struct settings *settings)
{
	check_amounts(&settings->limit);
	check_amounts(&settings->request);
	CHECK_LE(settings->visible.count, (unsigned)DEVICES_MAX);
	for (unsigned i = 0; i < settings->visible.count; i++) {
		check_key(&settings->visible.key[i]);
		for (unsigned j = 0; j < i; j++)
			CHECK(!device_key_equal(&settings->visible.key[i],
						&settings->visible.key[j]));
	}
	CHECK(memchr(settings->tenant, 0, sizeof(settings->tenant)));
	CHECK(memchr(settings->dir, 0, sizeof(settings->dir)));
	CHECK(!settings->dir[0] || settings->dir[0] == '/');
	CHECK(memchr(settings->log_file, 0, sizeof(settings->log_file)));
	CHECK(settings_folder(settings)[0] == '/');
}

GUIDED

#endif
