/*
 * The value of one setting, by its kind; see settings_value.h.
 */
#include "base/settings_value.h"

#include <string.h>

const char *setting_way_out(enum setting_kind kind)
{
	switch (kind) {
	case SETTING_LIMIT:
	case SETTING_REQUEST:
		return "write a size like 8G or 512MiB, a percentage like 50%, none, or a list "
		       "like GPU-1f2e=8G,*=2G";
	case SETTING_VISIBLE:
		return "write all, none, or a list like GPU-1f2e,0";
	case SETTING_DURATION:
		return "write a time like 30s, 10m or 1h";
	case SETTING_TENANT:
		return "write a name of at most 127 bytes, without control characters";
	case SETTING_FOLDER:
	case SETTING_FILE:
		return "write a path";
	case SETTING_ON_ERROR:
		return "write deny or allow";
	case SETTING_LEVEL:
		return "write off, error, warn, info or debug";
	case SETTING_BOOLEAN:
		return "write on or off";
	}
	return "";
}

static int parse_word(struct span text, const char *const *words, unsigned count, unsigned *found,
		      struct parse_error *error)
{
	text = span_trim(text);
	for (unsigned i = 0; i < count; i++) {
		if (span_is(text, words[i])) {
			*found = i;
			return 0;
		}
	}
	if (parse_leftover(text, error))
		return -1;
	return parse_refuse(error, text.at, "not one of the words allowed here");
}

static int parse_boolean(struct span text, bool *value, struct parse_error *error)
{
	static const char *const words[] = {"0", "false", "no", "off", "1", "true", "yes", "on"};
	unsigned found = 0;

	if (parse_word(text, words, 8, &found, error))
		return -1;
	*value = found >= 4;
	return 0;
}

static int parse_level(struct span text, enum log_level *level, struct parse_error *error)
{
	static const char *const words[] = {"off", "error", "warn", "info", "debug"};
	unsigned found = 0;

	if (parse_word(text, words, 5, &found, error))
		return -1;
	*level = (enum log_level)found;
	return 0;
}

static int parse_on_error(struct span text, enum on_error *on_error, struct parse_error *error)
{
	static const char *const words[] = {"deny", "allow"};
	unsigned found = 0;

	if (parse_word(text, words, 2, &found, error))
		return -1;
	*on_error = found ? ON_ERROR_ALLOW : ON_ERROR_DENY;
	return 0;
}

static int parse_name(struct span text, char name[SETTINGS_TENANT], struct parse_error *error)
{
	text = span_trim(text);
	if (parse_leftover(text, error))
		return -1;
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
			return parse_refuse(error, text.at + i, "a control character");
	if (text.length >= SETTINGS_TENANT)
		return parse_refuse(error, text.at + SETTINGS_TENANT - 1, "the name is too long");
	memcpy(name, text.at, text.length);
	name[text.length] = '\0';
	return 0;
}

static int parse_path(struct span text, bool absolute, char path[SETTINGS_PATH],
		      struct parse_error *error)
{
	const char *dollar;

	text = span_trim(text);
	dollar = span_find(text, '$');
	if (dollar && dollar[1] == '{')
		return parse_leftover((struct span){dollar, 1}, error);
	if (absolute && text.at[0] != '/')
		return parse_refuse(error, text.at, "the path must begin with /");
	if (text.length >= SETTINGS_PATH)
		return parse_refuse(error, text.at + SETTINGS_PATH - 1, "the path is too long");
	memcpy(path, text.at, text.length);
	path[text.length] = '\0';
	return 0;
}

int setting_parse(enum setting_kind kind, struct span text, void *field, struct parse_error *error)
{
	switch (kind) {
	case SETTING_LIMIT:
		return devices_parse_amounts(text, SIZE_PERCENT | SIZE_NONE | SIZE_USABLE, field,
					     error);
	case SETTING_REQUEST:
		return devices_parse_amounts(
			text, SIZE_PERCENT | SIZE_NONE | SIZE_ZERO | SIZE_USABLE, field, error);
	case SETTING_VISIBLE:
		return devices_parse_visible(text, field, error);
	case SETTING_DURATION:
		return size_parse_duration(text, field, error);
	case SETTING_TENANT:
		return parse_name(text, field, error);
	case SETTING_FOLDER:
	case SETTING_FILE:
		return parse_path(text, kind == SETTING_FOLDER, field, error);
	case SETTING_ON_ERROR:
		return parse_on_error(text, field, error);
	case SETTING_LEVEL:
		return parse_level(text, field, error);
	case SETTING_BOOLEAN:
		return parse_boolean(text, field, error);
	}
	return -1;
}
