/*
 * Names of devices; see uuid.h. Digits are counted in halves of a byte, dashes must
 * stand where a whole UUID has them: so "GPU-1f2e" is a prefix and "GPU-1f2e-" with a
 * misplaced dash is a mistake.
 */
#include "base/uuid.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define DIGITS 32

static bool dash_before(unsigned digit)
{
	return digit == 8 || digit == 12 || digit == 16 || digit == 20;
}

static bool starts_with(struct span text, const char *word)
{
	const size_t length = strlen(word);

	return text.length >= length && span_is((struct span){text.at, length}, word);
}

/* Reads up to 32 digits with their dashes; leaves in *text what follows. Returns how many. */
static unsigned read_digits(struct span *text, struct uuid *uuid)
{
	unsigned digits = 0;

	while (text->length && digits < DIGITS) {
		int value;

		if (dash_before(digits) && text->at[0] == '-') {
			if (text->length > 1 && char_hex(text->at[1]) < 0)
				break;
			text->at++;
			text->length--;
			if (!text->length)
				break;
		} else if (dash_before(digits)) {
			break;
		}
		value = char_hex(text->at[0]);
		if (value < 0)
			break;
		uuid->bytes[digits / 2] |= (uint8_t)(digits % 2 ? value : value << 4);
		digits++;
		text->at++;
		text->length--;
	}
	return digits;
}

static int read_instance(struct span text, uint16_t *instance)
{
	unsigned value = 0;

	if (!text.at || !text.length || text.length > 4)
		return -EINVAL;
	for (size_t i = 0; i < text.length; i++) {
		if (!char_is_digit(text.at[i]))
			return -EINVAL;
		value = value * 10 + (unsigned)(text.at[i] - '0');
	}
	*instance = (uint16_t)value;
	return 0;
}

void uuid_number(struct uuid *uuid, const struct uuid *gpu, unsigned gpu_instance,
		 unsigned compute_instance)
{
	uuid->numbered = true;
	uuid->gpu_instance = (uint16_t)gpu_instance;
	uuid->compute_instance = (uint16_t)compute_instance;
	memcpy(uuid->gpu, gpu->bytes, sizeof(uuid->gpu));
}

static int read_old_mig(struct span text, struct uuid_name *name, struct parse_error *error)
{
	const char *const start = text.at;
	struct span first;
	uint16_t gpu_instance, compute_instance;

	if (name->digits < DIGITS || !text.length || text.at[0] != '/')
		return parse_refuse(error, start, "an old MIG name is MIG-GPU-<uuid>/<gi>/<ci>");
	text.at++;
	text.length--;
	first = span_split(&text, '/');
	if (read_instance(first, &gpu_instance) || read_instance(text, &compute_instance))
		return parse_refuse(error, start, "an old MIG name is MIG-GPU-<uuid>/<gi>/<ci>");
	uuid_number(&name->uuid, &name->uuid, gpu_instance, compute_instance);
	return 0;
}

static void keep_text(struct span text, unsigned prefix, struct uuid_name *name)
{
	for (size_t i = 0; i < text.length; i++) {
		const char c = char_lower(text.at[i]);

		name->text[i] = i < prefix && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
	}
}

int uuid_name_parse(struct span text, struct uuid_name *name, struct parse_error *error)
{
	struct span rest = span_trim(text);
	const struct span whole = rest;
	unsigned prefix = 4;

	*name = (struct uuid_name){0};
	if (whole.length >= UUID_NAME)
		return parse_refuse(error, whole.at, "too long for the name of a device");
	if (starts_with(rest, "mig-gpu-")) {
		name->uuid.mig = UUID_MIG_OLD;
		prefix = 8;
	} else if (starts_with(rest, "mig-")) {
		name->uuid.mig = UUID_MIG;
	} else if (!starts_with(rest, "gpu-")) {
		return parse_refuse(error, rest.at,
				    "not a device; write GPU-<uuid>, MIG-<uuid>, a prefix of one, "
				    "or an index");
	}
	rest.at += prefix;
	rest.length -= prefix;
	name->digits = (uint8_t)read_digits(&rest, &name->uuid);
	keep_text(whole, prefix, name);
	if (!name->digits)
		return parse_refuse(error, rest.at, "at least one digit of the UUID must follow");
	if (name->uuid.mig == UUID_MIG_OLD)
		return read_old_mig(rest, name, error);
	if (rest.length)
		return parse_refuse(error, rest.at, "not a digit of a UUID");
	return 0;
}

int uuid_parse(struct span text, struct uuid *uuid)
{
	struct parse_error error;
	struct uuid_name name;

	if (uuid_name_parse(text, &name, &error) || name.digits != DIGITS)
		return -EINVAL;
	*uuid = name.uuid;
	return 0;
}

char *uuid_format(const struct uuid *uuid, char out[UUID_TEXT])
{
	struct text text;

	text_init(&text, out, UUID_TEXT);
	text_add(&text, "%s%s", uuid->mig ? "MIG-" : "", uuid->mig == UUID_MIG ? "" : "GPU-");
	for (unsigned i = 0; i < sizeof(uuid->bytes); i++)
		text_add(&text, "%s%02x", dash_before(i * 2) ? "-" : "", uuid->bytes[i]);
	if (uuid->mig == UUID_MIG_OLD)
		text_add(&text, "/%u/%u", uuid->gpu_instance, uuid->compute_instance);
	return out;
}

static bool same_numbers(const struct uuid *a, const struct uuid *b)
{
	return a->numbered && b->numbered && a->gpu_instance == b->gpu_instance &&
	       a->compute_instance == b->compute_instance &&
	       !memcmp(a->gpu, b->gpu, sizeof(a->gpu));
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
	return a->mig == b->mig && !memcmp(a->bytes, b->bytes, sizeof(a->bytes)) &&
	       (a->mig != UUID_MIG_OLD || same_numbers(a, b));
}

bool uuid_name_matches(const struct uuid_name *name, const struct uuid *uuid)
{
	const unsigned bytes = name->digits / 2;

	if (name->uuid.mig == UUID_MIG_OLD)
		return same_numbers(&name->uuid, uuid);
	if (name->uuid.mig != uuid->mig || memcmp(name->uuid.bytes, uuid->bytes, bytes))
		return false;
	return name->digits % 2 == 0 || name->uuid.bytes[bytes] == (uuid->bytes[bytes] & 0xf0);
}

bool uuid_name_equal(const struct uuid_name *a, const struct uuid_name *b)
{
	return a->digits == b->digits && uuid_equal(&a->uuid, &b->uuid);
}
