/*
 * The value of one setting: a parser for each kind of options.def, and what to
 * write instead of a mistake.
 */
#ifndef BASE_SETTINGS_VALUE_H
#define BASE_SETTINGS_VALUE_H

#include "base/settings.h"

/* The type of the field is: device_amounts, device_amounts, visible_list, uint64_t of ns,
 * char[SETTINGS_TENANT], char[SETTINGS_PATH], enum on_error, enum log_level,
 * char[SETTINGS_PATH], bool. */
enum setting_kind {
	SETTING_LIMIT,
	SETTING_REQUEST,
	SETTING_VISIBLE,
	SETTING_DURATION,
	SETTING_TENANT,
	SETTING_FOLDER,
	SETTING_ON_ERROR,
	SETTING_LEVEL,
	SETTING_FILE,
	SETTING_BOOLEAN,
};

/* 0, or below 0 with *error set. */
int setting_parse(enum setting_kind kind, struct span text, void *field, struct parse_error *error);

/* "write a size like ..." */
const char *setting_way_out(enum setting_kind kind);

#endif
