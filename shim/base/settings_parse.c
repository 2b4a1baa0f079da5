/*
 * From NAME=value strings to struct settings: one row of options.def, one parser by kind.
 *
 * Promises: writes nothing, reads nothing but the source; a refused value leaves a note that names the
 * variable, the value, the position, the reason and the way out.
 */
#include "base/settings.h"
#include "base/text.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define HAMI_INDEXED "CUDA_DEVICE_MEMORY_LIMIT_"
#define SHOWN 80 /* bytes of a value repeated in a note */

enum kind { LIMIT, REQUEST, VISIBLE, DURATION, TENANT, FOLDER, ON_ERROR, LEVEL, FILE, BOOLEAN };

struct option {
	const char *name;
	enum kind kind;
	size_t offset;
};

static const struct option options[] = {
#define OPTION(field, name, kind, default_text, value, summary, more)                                      \
	{name, kind, offsetof(struct settings, field)},
#include "base/options.def"
};

#define OPTIONS (sizeof(options) / sizeof(*options))

static const struct alias {
	const char *name;
	size_t offset;
} aliases[] = {
#define ALIAS(field, name) {name, offsetof(struct settings, field)},
#include "base/options.def"
};

#define ALIASES (sizeof(aliases) / sizeof(*aliases))

/* Ours too, but read by the command or by tests. */
static const char *const others[] = {"CUQUOTA_LIB", "CUQUOTA_POINT", "CUQUOTA_TEST"};

static const char *way_out(enum kind kind)
{
	switch (kind) {
	case LIMIT:
	case REQUEST:
		return "write a size like 8G or 512MiB, a percentage like 50%, none, or a list like "
		       "GPU-1f2e=8G,*=2G";
	case VISIBLE:
		return "write all, none, or a list like GPU-1f2e,0";
	case DURATION:
		return "write a time like 30s, 10m or 1h";
	case TENANT:
		return "write a name of at most 127 bytes, without control characters";
	case FOLDER:
	case FILE:
		return "write a path";
	case ON_ERROR:
		return "write deny or allow";
	case LEVEL:
		return "write off, error, warn, info or debug";
	case BOOLEAN:
		return "write on or off";
	}
	return "";
}

static struct settings_note *new_note(struct settings *settings, enum log_level level)
{
	struct settings_note *note;

	if (settings->notes == SETTINGS_NOTES)
		return NULL;
	note = &settings->note[settings->notes++];
	note->level = level;
	return note;
}

struct value {
	const struct settings_source *source;
	const char *name;
	struct span text; /* as written */
};

static void add_value(struct text *text, const struct value *value)
{
	if (value->source->origin[0])
		text_add(text, "%s: ", value->source->origin);
	text_add(text, "%s=\"", value->name);
	text_add_foreign(text, value->text.at, value->text.length, SHOWN);
	text_add(text, "\"");
}

static void note_value(struct settings *settings, enum kind kind, const struct value *value,
		       const struct parse_error *error)
{
	const bool mild = kind == BOOLEAN || kind == LEVEL || kind == FILE;
	struct settings_note *const note = new_note(settings, mild ? LOG_WARN : LOG_ERROR);
	struct text text;

	if (!note)
		return;
	text_init(&text, note->text, sizeof(note->text));
	add_value(&text, value);
	text_add(&text, mild ? " is not understood" : " is refused");
	text_add(&text, " at character %zu: %s; %s", (size_t)(error->at - value->text.at) + 1,
		 error->reason, way_out(kind));
	if (mild)
		text_add(&text, " (the default holds)");
	else if (settings->on_error == ON_ERROR_DENY)
		text_add(&text, " (until then GPU memory is refused; CUQUOTA_ON_ERROR=allow would run "
				"without a limit)");
	else
		text_add(&text, " (running WITHOUT a limit, as CUQUOTA_ON_ERROR=allow says)");
}

static void refuse(struct settings *settings, enum kind kind, const struct value *value,
		   const struct parse_error *error)
{
	note_value(settings, kind, value, error);
	if (kind == BOOLEAN || kind == LEVEL || kind == FILE)
		return;
	settings->refused = true;
	if (kind == VISIBLE)
		settings->refused_visible = true;
}

/* A value that is empty, or white space, counts as not set. */
static bool find(const struct settings_source *source, const char *name, struct value *value)
{
	const size_t length = strlen(name);

	for (const char *const *pair = source->pairs; pair && *pair; pair++) {
		if (strncmp(*pair, name, length) || (*pair)[length] != '=')
			continue;
		*value = (struct value){source, name, span_of(*pair + length + 1)};
		return span_trim(value->text).length > 0;
	}
	return false;
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

static int parse_value(enum kind kind, struct span text, void *field, struct parse_error *error)
{
	switch (kind) {
	case LIMIT:
		return devices_parse_amounts(text, SIZE_PERCENT | SIZE_NONE, field, error);
	case REQUEST:
		return devices_parse_amounts(text, SIZE_PERCENT | SIZE_NONE | SIZE_ZERO, field, error);
	case VISIBLE:
		return devices_parse_visible(text, field, error);
	case DURATION:
		return size_parse_duration(text, field, error);
	case TENANT:
		return parse_name(text, field, error);
	case FOLDER:
	case FILE:
		return parse_path(text, kind == FOLDER, field, error);
	case ON_ERROR:
		return parse_on_error(text, field, error);
	case LEVEL:
		return parse_level(text, field, error);
	case BOOLEAN:
		return parse_boolean(text, field, error);
	}
	return -1;
}

/* HAMi-core's 0 means that no limit is set, so what is less special holds. */
static bool is_hami_zero(const struct value *value)
{
	struct amount amount;
	struct parse_error error;

	return !strncmp(value->name, "CUDA_DEVICE_", 12) &&
	       !size_parse(value->text, SIZE_ZERO, &amount, &error) && !amount.value;
}

/* CUDA_DEVICE_MEMORY_LIMIT_<i>: entries for one index each, beside what the other aliases gave. */
static void parse_hami_indexed(const struct settings_source *source, struct settings *settings)
{
	const size_t prefix = sizeof(HAMI_INDEXED) - 1;

	for (const char *const *pair = source->pairs; pair && *pair; pair++) {
		struct device_key key = {.kind = KEY_INDEX};
		const char *at = *pair + prefix;
		char name[sizeof(HAMI_INDEXED) + 4];
		struct parse_error error;
		struct amount amount;
		struct value value;
		bool there = false;

		if (strncmp(*pair, HAMI_INDEXED, prefix))
			continue;
		for (; char_is_digit(*at) && at < *pair + prefix + 4; at++)
			key.index = key.index * 10 + (unsigned)(*at - '0');
		if (at == *pair + prefix || *at != '=')
			continue;
		memcpy(name, *pair, (size_t)(at - *pair));
		name[at - *pair] = '\0';
		value = (struct value){source, name, span_of(at + 1)};
		if (!span_trim(value.text).length || is_hami_zero(&value))
			continue;
		for (unsigned i = 0; i < settings->limit.count; i++)
			there |= device_key_equal(&settings->limit.entry[i].key, &key);
		if (size_parse(value.text, SIZE_PERCENT | SIZE_NONE, &amount, &error))
			refuse(settings, LIMIT, &value, &error);
		else if (!there)
			devices_add(&settings->limit, &key, &amount);
	}
}

/* Nothing of a refused list holds, not the entries before the mistake either. */
static void forget(enum kind kind, void *field)
{
	if (kind == LIMIT || kind == REQUEST)
		((struct device_amounts *)field)->count = 0;
	if (kind == VISIBLE)
		*(struct visible_list *)field = (struct visible_list){.kind = VISIBLE_ALL};
}

static void parse_option(const struct settings_source *source, const struct option *option,
			 struct settings *settings)
{
	void *const field = (char *)settings + option->offset;
	bool found, own;
	struct parse_error error;
	struct value value;

	found = own = find(source, option->name, &value);
	for (unsigned i = 0; i < ALIASES && !found; i++)
		found = aliases[i].offset == option->offset && find(source, aliases[i].name, &value) &&
			!is_hami_zero(&value);
	if (found && parse_value(option->kind, value.text, field, &error)) {
		refuse(settings, option->kind, &value, &error);
		forget(option->kind, field);
	}
	if (option->kind == LIMIT && !own)
		parse_hami_indexed(source, settings);
}

/* Where both are plain sizes the contradiction is known without a device. */
static void compare_request(const struct settings_source *source, struct settings *settings)
{
	for (unsigned i = 0; i < settings->request.count; i++) {
		const struct device_amount *const request = &settings->request.entry[i];

		for (unsigned j = 0; j < settings->limit.count; j++) {
			const struct device_amount *const limit = &settings->limit.entry[j];
			struct value value = {source, "CUQUOTA_MEMORY_REQUEST", {"", 0}};
			struct parse_error error = {.reason = "the request is above the limit"};

			if (!device_key_equal(&request->key, &limit->key) ||
			    request->amount.kind == AMOUNT_NONE ||
			    request->amount.kind != limit->amount.kind ||
			    request->amount.value <= limit->amount.value)
				continue;
			if (!find(source, value.name, &value)) {
				value.name = "NVIDIA_GPU_MEMORY_REQUEST";
				find(source, value.name, &value);
			}
			error.at = value.text.at;
			refuse(settings, REQUEST, &value, &error);
			return;
		}
	}
}

static bool known(const char *pair, size_t length)
{
	for (unsigned i = 0; i < OPTIONS; i++)
		if (strlen(options[i].name) == length && !strncmp(pair, options[i].name, length))
			return true;
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(pair, others[i], strlen(others[i])))
			return true;
	return false;
}

/* A limit under a misspelt name would be no limit, in silence. */
static void note_unknown(const struct settings_source *source, struct settings *settings)
{
	for (const char *const *pair = source->pairs; pair && *pair; pair++) {
		const char *const equals = strchr(*pair, '=');
		struct settings_note *note;
		struct text text;

		if (strncmp(*pair, "CUQUOTA_", 8) || !equals || known(*pair, (size_t)(equals - *pair)))
			continue;
		note = new_note(settings, LOG_WARN);
		if (!note)
			return;
		text_init(&text, note->text, sizeof(note->text));
		text_add_foreign(&text, *pair, (size_t)(equals - *pair), SHOWN);
		text_add(&text, " is not a setting and has no effect; `cuquota help settings` lists them");
	}
}

void settings_parse(const struct settings_source *source, struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->request_keep_ns = 600 * SECOND_NS;
	settings->log_level = LOG_WARN;
	settings->visible.kind = VISIBLE_ALL;
	settings->on_error = ON_ERROR_DENY;

	/* First what the others' notes depend on. */
	for (unsigned i = 0; i < OPTIONS; i++)
		if (options[i].offset == offsetof(struct settings, disable) ||
		    options[i].kind == ON_ERROR)
			parse_option(source, &options[i], settings);
	if (settings->disable) {
		settings->refused = false;
		settings->notes = 0;
		return;
	}
	for (unsigned i = 0; i < OPTIONS; i++)
		if (options[i].offset != offsetof(struct settings, disable) &&
		    options[i].kind != ON_ERROR)
			parse_option(source, &options[i], settings);
	compare_request(source, settings);
	note_unknown(source, settings);
}
