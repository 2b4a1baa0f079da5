/*
 * From NAME=value strings to struct settings: one row of options.def, one parser by kind.
 *
 * Promises: writes nothing, reads nothing but the source; a refused value leaves a note that names
 * the variable, the value, the position, the reason and the way out.
 */
#include "base/settings.h"
#include "base/settings_value.h"
#include "base/text.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define HAMI_INDEXED "CUDA_DEVICE_MEMORY_LIMIT_"
#define SHOWN 80 /* bytes of a value repeated in a note */

struct option {
	const char *name;
	enum setting_kind kind;
	size_t offset;
};

static const struct option options[] = {
#define OPTION(field, name, kind, default_text, value, summary, more) \
	{name, SETTING_##kind, offsetof(struct settings, field)},
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

static void note_value(struct settings *settings, enum setting_kind kind, const struct value *value,
		       const struct parse_error *error, const char *way_out)
{
	const bool mild = kind == SETTING_BOOLEAN || kind == SETTING_LEVEL || kind == SETTING_FILE;
	struct settings_note *const note = new_note(settings, mild ? LOG_WARN : LOG_ERROR);
	struct text text;

	if (!note)
		return;
	text_init(&text, note->text, sizeof(note->text));
	add_value(&text, value);
	note->name = value->source->origin[0] ? 0 : (unsigned)strlen(value->name);
	text_add(&text, mild ? " is not understood" : " is refused");
	text_add(&text, " at character %zu: %s; %s", (size_t)(error->at - value->text.at) + 1,
		 error->reason, way_out ? way_out : setting_way_out(kind));
	note->told = (unsigned)text.length;
	if (mild)
		text_add(&text, " (the default holds)");
	else if (settings->on_error == ON_ERROR_DENY)
		text_add(&text,
			 " (until then GPU memory is refused; CUQUOTA_ON_ERROR=allow would run "
			 "without a limit)");
	else
		text_add(&text, " (running WITHOUT a limit, as CUQUOTA_ON_ERROR=allow says)");
}

static void refuse(struct settings *settings, enum setting_kind kind, const struct value *value,
		   const struct parse_error *error, const char *way_out)
{
	note_value(settings, kind, value, error, way_out);
	if (kind == SETTING_BOOLEAN || kind == SETTING_LEVEL || kind == SETTING_FILE)
		return;
	settings->refused = true;
	if (kind == SETTING_VISIBLE)
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

/* HAMi-core's 0 means that no limit is set, so what is less special holds. Not so 0.5, which only
 * comes to 0 bytes. */
static bool is_hami_zero(const struct value *value)
{
	struct amount amount;
	struct parse_error error;

	if (strncmp(value->name, "CUDA_DEVICE_", 12) ||
	    size_parse(value->text, SIZE_ZERO, &amount, &error))
		return false;
	for (size_t i = 0; i < value->text.length; i++)
		if (value->text.at[i] >= '1' && value->text.at[i] <= '9')
			return false;
	return true;
}

/* One CUDA_DEVICE_MEMORY_LIMIT_<i>; `digits` is where <i> begins. */
static void parse_hami_index(const struct value *value, const char *digits,
			     struct settings *settings)
{
	struct device_key key = {.kind = KEY_INDEX};
	struct parse_error error = {.at = value->text.at};
	struct amount amount;

	for (; char_is_digit(*digits) && key.index < 10000; digits++)
		key.index = key.index * 10 + (unsigned)(*digits - '0');
	if (key.index > 9999)
		error.reason = "the index in the name is too large";
	else if (size_parse(value->text, SIZE_PERCENT | SIZE_NONE | SIZE_USABLE, &amount, &error))
		;
	else if (!devices_has(&settings->limit, &key) &&
		 devices_add(&settings->limit, &key, &amount))
		error.reason = "more than 64 limits";
	if (error.reason)
		refuse(settings, SETTING_LIMIT, value, &error, NULL);
}

/* CUDA_DEVICE_MEMORY_LIMIT_<i>: entries for one index each, beside what the other aliases gave. */
static void parse_hami_indexed(const struct settings_source *source, struct settings *settings)
{
	const size_t prefix = sizeof(HAMI_INDEXED) - 1;

	for (const char *const *pair = source->pairs; pair && *pair; pair++) {
		const char *equals = *pair + prefix;
		char name[sizeof(HAMI_INDEXED) + 24];
		struct value value;
		struct text text;

		if (strncmp(*pair, HAMI_INDEXED, prefix) || !char_is_digit(*equals))
			continue;
		while (char_is_digit(*equals))
			equals++;
		if (*equals != '=')
			continue;
		text_init(&text, name, sizeof(name));
		text_add_foreign(&text, *pair, (size_t)(equals - *pair), sizeof(name));
		value = (struct value){source, name, span_of(equals + 1)};
		if (span_trim(value.text).length && !is_hami_zero(&value))
			parse_hami_index(&value, *pair + prefix, settings);
	}
}

/* Nothing of a refused list holds, not the entries before the mistake either. */
static void forget(enum setting_kind kind, void *field)
{
	if (kind == SETTING_LIMIT || kind == SETTING_REQUEST)
		((struct device_amounts *)field)->count = 0;
	if (kind == SETTING_VISIBLE)
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
		found = aliases[i].offset == option->offset &&
			find(source, aliases[i].name, &value) && !is_hami_zero(&value);
	if (found && setting_parse(option->kind, value.text, field, &error)) {
		refuse(settings, option->kind, &value, &error, NULL);
		forget(option->kind, field);
	}
	if (option->kind == SETTING_LIMIT && !own)
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
			refuse(settings, SETTING_REQUEST, &value, &error,
			       "ask for less, or raise the limit");
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

/* Until it has an effect. */
static void note_callsites(struct settings *settings)
{
	struct settings_note *const note =
		settings->callsites ? new_note(settings, LOG_WARN) : NULL;
	struct text text;

	if (!note)
		return;
	text_init(&text, note->text, sizeof(note->text));
	text_add(&text, "CUQUOTA_CALLSITES has no effect yet: no place of an allocation is noted; "
			"leave it out");
}

/* A limit under a misspelt name would be no limit, in silence. */
static void note_unknown(const struct settings_source *source, struct settings *settings)
{
	for (const char *const *pair = source->pairs; pair && *pair; pair++) {
		const char *const equals = strchr(*pair, '=');
		struct settings_note *note;
		struct text text;

		if (strncmp(*pair, "CUQUOTA_", 8) || !equals ||
		    known(*pair, (size_t)(equals - *pair)))
			continue;
		note = new_note(settings, LOG_WARN);
		if (!note)
			return;
		text_init(&text, note->text, sizeof(note->text));
		text_add_foreign(&text, *pair, (size_t)(equals - *pair), SHOWN);
		text_add(&text,
			 " is not a setting and has no effect; `cuquota help settings` lists them");
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
		    options[i].kind == SETTING_ON_ERROR)
			parse_option(source, &options[i], settings);
	if (settings->disable) {
		settings->refused = false;
		settings->notes = 0;
		return;
	}
	for (unsigned i = 0; i < OPTIONS; i++)
		if (options[i].offset != offsetof(struct settings, disable) &&
		    options[i].kind != SETTING_ON_ERROR)
			parse_option(source, &options[i], settings);
	compare_request(source, settings);
	note_callsites(settings);
	note_unknown(source, settings);
}
