/* For the tests of settings: parse a few NAME=value strings as if they were the environment. */
#ifndef TESTS_SETTINGS_HELPER_H
#define TESTS_SETTINGS_HELPER_H

#include "base/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* The settings that these strings give; the last one is NULL. Valid until the next call. */
#define SETTINGS(...) settings_from((const char *const[]){__VA_ARGS__, NULL})

__attribute__((unused)) static const struct settings *settings_from(const char *const *pairs)
{
	static struct settings settings;
	const struct settings_source source = {pairs, ""};

	settings_parse(&source, &settings);
	return &settings;
}

__attribute__((unused)) static struct uuid uuid_from(const char *text)
{
	struct uuid uuid;

	if (uuid_parse(span_of(text), &uuid))
		fail_msg("not a UUID: %s", text);
	return uuid;
}

/* The note that contains `text`, or NULL. */
__attribute__((unused)) static const struct settings_note *note_with(
	const struct settings *settings, const char *text)
{
	for (unsigned i = 0; i < settings->notes; i++)
		if (strstr(settings->note[i].text, text))
			return &settings->note[i];
	return NULL;
}

__attribute__((unused)) static void print_notes(const struct settings *settings)
{
	for (unsigned i = 0; i < settings->notes; i++)
		print_error("note: %s\n", settings->note[i].text);
}

#endif
