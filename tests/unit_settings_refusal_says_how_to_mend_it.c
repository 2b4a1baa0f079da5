/*
 * A refused value is one line that names the variable, the value, the position, the reason and the
 * way out, and never means "no limit".
 */
#include "settings_helper.h"

static void the_line(void **state)
{
	const struct settings *s = SETTINGS("CUQUOTA_MEMORY_LIMIT=GPU-1f2e=8G,1=4X");

	assert_true(s->refused);
	assert_false(s->refused_visible);
	assert_int_equal(s->notes, 1);
	assert_int_equal(s->note[0].level, LOG_ERROR);
	assert_non_null(
		note_with(s,
			  "CUQUOTA_MEMORY_LIMIT=\"GPU-1f2e=8G,1=4X\" is refused at character 16: "
			  "unknown unit"));
	assert_non_null(note_with(s, "write a size like 8G"));
	assert_non_null(note_with(s, "CUQUOTA_ON_ERROR=allow"));
	assert_null(strchr(s->note[0].text, '\n'));

	s = SETTINGS("CUQUOTA_ON_ERROR=allow", "CUQUOTA_MEMORY_LIMIT=4X");
	assert_true(s->refused);
	assert_int_equal(s->on_error, ON_ERROR_ALLOW);
	assert_non_null(note_with(s, "WITHOUT a limit"));
}

static void control_characters_and_length_stay_out_of_the_line(void **state)
{
	char pair[1024] = "CUQUOTA_MEMORY_LIMIT=4G\x1b[31m\n";
	const struct settings *s = SETTINGS(pair);

	assert_true(s->refused);
	assert_null(strchr(s->note[0].text, '\x1b'));
	assert_null(strchr(s->note[0].text, '\n'));
	memset(pair + 21, 'x', sizeof(pair) - 22);
	s = SETTINGS(pair);
	assert_true(s->refused);
	assert_in_range(strlen(s->note[0].text), 1, 400);
}

static void visible_is_remembered_apart(void **state)
{
	const struct settings *const s = SETTINGS("CUQUOTA_VISIBLE_DEVICES=GPU-zz");

	assert_true(s->refused);
	assert_true(s->refused_visible);
}

static void each_kind_is_refused(void **state)
{
	static const char *const pairs[] = {
		"CUQUOTA_MEMORY_REQUEST=4X",
		"CUQUOTA_REQUEST_KEEP=soon",
		"CUQUOTA_TENANT=a\nb",
		"CUQUOTA_DIR=relative/folder",
		"CUQUOTA_ON_ERROR=maybe",
		"CUQUOTA_VISIBLE_DEVICES=0,0",
	};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const struct settings *const s = SETTINGS(pairs[i]);

		if (!s->refused || s->notes != 1 || s->on_error != ON_ERROR_DENY)
			fail_msg("%s: refused %d, %u notes, on_error %d", pairs[i], s->refused,
				 s->notes, s->on_error);
	}
}

static void a_request_above_the_limit_is_refused(void **state)
{
	const struct uuid uuid = uuid_from("GPU-1f2e3d4c-0000-1111-2222-333344445555");
	const struct settings *s = SETTINGS("CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_MEMORY_REQUEST=5G");
	uint64_t bytes;

	assert_true(s->refused);
	assert_non_null(note_with(s, "CUQUOTA_MEMORY_REQUEST=\"5G\" is refused"));
	assert_non_null(note_with(s, "above the limit; ask for less, or raise the limit"));
	assert_false(SETTINGS("CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_MEMORY_REQUEST=4G")->refused);

	/* Only a device shows that half of it is more than the limit. */
	s = SETTINGS("CUQUOTA_LOG=off", "CUQUOTA_MEMORY_LIMIT=4G", "CUQUOTA_MEMORY_REQUEST=50%");
	log_setup(LOG_OFF, NULL);
	assert_false(s->refused);
	assert_int_equal(settings_request(s, &uuid, 0, 8 * GIB, &bytes), 0);
	assert_int_equal(bytes, 4 * GIB);
	assert_true(settings_request(s, &uuid, 0, 10 * GIB, &bytes) < 0);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=0.001%");
	assert_true(settings_limit(s, &uuid, 0, GIB, &bytes) < 0);
}

/* Where only the unit was forgotten it would be a limit that no context fits into. */
static void what_nothing_fits_into_is_refused(void **state)
{
	static const char *const bare[] = {"CUQUOTA_MEMORY_LIMIT=8", "CUQUOTA_MEMORY_LIMIT=512",
					   "CUQUOTA_MEMORY_LIMIT=0=8,*=2G",
					   "CUQUOTA_MEMORY_REQUEST=4",
					   "CUDA_DEVICE_MEMORY_LIMIT=1024",
					   "CUDA_DEVICE_MEMORY_LIMIT_0=1024"};

	for (unsigned i = 0; i < sizeof(bare) / sizeof(*bare); i++) {
		const struct settings *const s = SETTINGS(bare[i]);

		if (!s->refused || !note_with(s, "a number without a unit counts bytes") ||
		    !note_with(s, "write a size like 8G"))
			fail_msg("%s: refused %d, %s", bare[i], s->refused, s->note[0].text);
	}
	assert_non_null(note_with(SETTINGS("CUQUOTA_MEMORY_LIMIT=2047K"), "so nothing fits"));
	assert_false(SETTINGS("CUQUOTA_MEMORY_LIMIT=2M")->refused);
	assert_false(SETTINGS("CUQUOTA_MEMORY_LIMIT=8589934592")->refused);
	assert_false(SETTINGS("CUQUOTA_MEMORY_REQUEST=0")->refused);
}

static void a_log_level_that_is_none_only_warns(void **state)
{
	const struct settings *const s = SETTINGS("CUQUOTA_LOG=loud");

	assert_false(s->refused);
	assert_int_equal(s->log_level, LOG_WARN);
	assert_int_equal(s->notes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line),
		cmocka_unit_test(control_characters_and_length_stay_out_of_the_line),
		cmocka_unit_test(visible_is_remembered_apart),
		cmocka_unit_test(each_kind_is_refused),
		cmocka_unit_test(a_request_above_the_limit_is_refused),
		cmocka_unit_test(what_nothing_fits_into_is_refused),
		cmocka_unit_test(a_log_level_that_is_none_only_warns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
