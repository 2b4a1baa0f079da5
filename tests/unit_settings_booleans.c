/*
 * Booleans are taken by their value, not by their presence; what is neither warns and leaves the
 * default. report: CP-02
 */
#include "settings_helper.h"

static void check(const char *pair, bool disable, bool warned)
{
	const struct settings *const settings = SETTINGS(pair);

	if (settings->disable != disable || (settings->notes > 0) != warned || settings->refused)
		fail_msg("%s: disable %d want %d, notes %u want %s, refused %d", pair,
			 settings->disable, disable, settings->notes, warned ? "one" : "none",
			 settings->refused);
	if (warned)
		assert_int_equal(settings->note[0].level, LOG_WARN);
}

static void disable(void **state)
{
	static const char *const on[] = {"1", "true", "TRUE", "yes", "Yes", "on", "ON", " on "};
	static const char *const off[] = {"0", "false", "False", "no", "off", "OFF", "", "  "};
	static const char *const neither[] = {"2", "enabled", "onn", "o",
					      "-", "\"on\"", "true false"};
	char pair[64];

	for (unsigned i = 0; i < sizeof(on) / sizeof(*on); i++) {
		snprintf(pair, sizeof(pair), "CUQUOTA_DISABLE=%s", on[i]);
		check(pair, true, false);
	}
	for (unsigned i = 0; i < sizeof(off) / sizeof(*off); i++) {
		snprintf(pair, sizeof(pair), "CUQUOTA_DISABLE=%s", off[i]);
		check(pair, false, false);
	}
	for (unsigned i = 0; i < sizeof(neither) / sizeof(*neither); i++) {
		snprintf(pair, sizeof(pair), "CUQUOTA_DISABLE=%s", neither[i]);
		check(pair, false, true);
	}
}

static void a_disabled_library_looks_at_nothing_else(void **state)
{
	const struct settings *const settings = SETTINGS("CUQUOTA_MEMORY_LIMIT=nonsense",
							 "CUQUOTA_ON_ERROR=maybe",
							 "CUQUOTA_DISABLE=1");

	assert_true(settings->disable);
	assert_false(settings->refused);
	assert_int_equal(settings->notes, 0);
}

static void callsites(void **state)
{
	assert_true(SETTINGS("CUQUOTA_CALLSITES=yes")->callsites);
	assert_false(SETTINGS("CUQUOTA_CALLSITES=no")->callsites);
	assert_int_equal(SETTINGS("CUQUOTA_CALLSITES=no")->notes, 0);
	assert_non_null(note_with(SETTINGS("CUQUOTA_CALLSITES=1"), "no effect yet"));
	assert_non_null(note_with(SETTINGS("CUQUOTA_CALLSITES=maybe"), "not understood"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disable),
		cmocka_unit_test(a_disabled_library_looks_at_nothing_else),
		cmocka_unit_test(callsites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
