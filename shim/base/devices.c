/*
 * Lists of devices; see devices.h.
 */
#include "base/devices.h"

#include <errno.h>

bool device_key_equal(const struct device_key *a, const struct device_key *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case KEY_INDEX:
		return a->index == b->index;
	case KEY_UUID:
		return uuid_name_equal(&a->name, &b->name);
	case KEY_ANY:
		break;
	}
	return true;
}

static int parse_index(struct span text, unsigned *index, struct parse_error *error)
{
	*index = 0;
	for (size_t i = 0; i < text.length; i++) {
		if (!char_is_digit(text.at[i]))
			return parse_refuse(error, text.at + i, "not a digit of an index");
		*index = *index * 10 + (unsigned)(text.at[i] - '0');
		if (*index > 9999)
			return parse_refuse(error, text.at, "the index is too large");
	}
	return 0;
}

static int parse_key(struct span text, bool any, struct device_key *key, struct parse_error *error)
{
	text = span_trim(text);
	*key = (struct device_key){.kind = KEY_ANY};
	if (!text.length)
		return parse_refuse(error, text.at, "a device is missing");
	if (any && span_is(text, "*"))
		return 0;
	if (char_is_digit(text.at[0])) {
		key->kind = KEY_INDEX;
		return parse_index(text, &key->index, error);
	}
	key->kind = KEY_UUID;
	return uuid_name_parse(text, &key->name, error);
}

bool devices_has(const struct device_amounts *amounts, const struct device_key *key)
{
	for (unsigned i = 0; i < amounts->count; i++)
		if (device_key_equal(&amounts->entry[i].key, key))
			return true;
	return false;
}

int devices_add(struct device_amounts *amounts, const struct device_key *key,
		const struct amount *amount)
{
	if (amounts->count == DEVICES_MAX)
		return -ENOSPC;
	amounts->entry[amounts->count++] = (struct device_amount){*key, *amount};
	return 0;
}

static int parse_entry(struct span text, unsigned accept, struct device_amounts *amounts,
		       struct parse_error *error)
{
	const char *const start = span_trim(text).at;
	struct device_key key;
	struct amount amount;
	struct span value = text;
	const struct span name = span_split(&value, '=');

	if (!value.at)
		return parse_refuse(error, start,
				    "an entry of a list must be DEVICE=SIZE (fractions are written "
				    "with a point)");
	if (parse_key(name, true, &key, error) || size_parse(value, accept, &amount, error))
		return -EINVAL;
	if (devices_has(amounts, &key))
		return parse_refuse(error, start, "the same device twice");
	if (devices_add(amounts, &key, &amount))
		return parse_refuse(error, start, "more than 64 entries");
	return 0;
}

int devices_parse_amounts(struct span text, unsigned accept, struct device_amounts *amounts,
			  struct parse_error *error)
{
	const struct device_key any = {.kind = KEY_ANY};
	struct amount amount;

	amounts->count = 0;
	if (parse_leftover(text, error))
		return -EINVAL;
	if (!span_find(text, '=') && !span_find(text, ',')) {
		if (size_parse(text, accept, &amount, error))
			return -EINVAL;
		return devices_add(amounts, &any, &amount);
	}
	while (text.at)
		if (parse_entry(span_split(&text, ','), accept, amounts, error))
			return -EINVAL;
	return 0;
}

int devices_parse_visible(struct span text, struct visible_list *visible, struct parse_error *error)
{
	const struct span whole = span_trim(text);

	*visible = (struct visible_list){.kind = VISIBLE_LIST};
	if (parse_leftover(text, error))
		return -EINVAL;
	if (span_is(whole, "all") || span_is(whole, "none")) {
		visible->kind = span_is(whole, "all") ? VISIBLE_ALL : VISIBLE_NONE;
		return 0;
	}
	while (text.at) {
		const struct span entry = span_split(&text, ',');
		struct device_key *const key = &visible->key[visible->count];

		if (visible->count == DEVICES_MAX)
			return parse_refuse(error, entry.at, "more than 64 entries");
		if (parse_key(entry, false, key, error))
			return -EINVAL;
		for (unsigned i = 0; i < visible->count; i++)
			if (device_key_equal(&visible->key[i], key))
				return parse_refuse(error, span_trim(entry).at,
						    "the same device twice");
		visible->count++;
	}
	return 0;
}

static unsigned rank(const struct device_key *key, const struct uuid *uuid, unsigned index)
{
	switch (key->kind) {
	case KEY_UUID:
		return uuid_name_matches(&key->name, uuid) ? 2u + key->name.digits : 0;
	case KEY_INDEX:
		return key->index == index ? 2 : 0;
	case KEY_ANY:
		break;
	}
	return 1;
}

const struct device_amount *devices_find(const struct device_amounts *amounts,
					 const struct uuid *uuid, unsigned index)
{
	const struct device_amount *found = NULL;
	unsigned best = 0;

	for (unsigned i = 0; i < amounts->count; i++) {
		const unsigned here = rank(&amounts->entry[i].key, uuid, index);

		if (here > best) {
			best = here;
			found = &amounts->entry[i];
		}
	}
	return found;
}
