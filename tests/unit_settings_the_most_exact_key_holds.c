/*
 * In a list of limits a UUID wins over an index, an index over `*`; every form of key is effective.
 * report: CP-03
 */
#include "settings_helper.h"

#include <errno.h>
#include <unistd.h>

#define A "GPU-1f2e3d4c-0000-1111-2222-333344445555"
#define B "GPU-1f2e0000-0000-1111-2222-333344445555"
#define C "MIG-1f2e3d4c-0000-1111-2222-333344445555"

static void expect(const struct settings *settings, const char *name, unsigned index,
		   uint64_t bytes)
{
	const struct uuid uuid = uuid_from(name);
	uint64_t got;

	if (settings->refused) {
		print_notes(settings);
		fail_msg("refused");
	}
	assert_int_equal(settings_limit(settings, &uuid, index, 24 * GIB, &got), 0);
	if (got != bytes)
		fail_msg("%s at %u: %llu, want %llu", name, index, (unsigned long long)got,
			 (unsigned long long)bytes);
}

static void every_form_of_key(void **state)
{
	const struct settings *s = SETTINGS("CUQUOTA_MEMORY_LIMIT=" A "=8G");

	expect(s, A, 3, 8 * GIB);
	expect(s, B, 0, AMOUNT_UNLIMITED);
	expect(s, C, 0, AMOUNT_UNLIMITED);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=gpu-1F2E3=8G");
	expect(s, A, 0, 8 * GIB);
	expect(s, B, 0, AMOUNT_UNLIMITED);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=1=50%");
	expect(s, A, 1, 12 * GIB);
	expect(s, A, 0, AMOUNT_UNLIMITED);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=MIG-1f2e=1G");
	expect(s, C, 0, GIB);
	expect(s, A, 0, AMOUNT_UNLIMITED);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=6G");
	expect(s, A, 0, 6 * GIB);
	expect(s, B, 7, 6 * GIB);
}

static void the_most_exact_wins_whatever_the_order(void **state)
{
	const struct settings *s =
		SETTINGS("CUQUOTA_MEMORY_LIMIT= * = 2G , 1=50%, GPU-1f2e=3G,GPU-1f2e3=8G ");

	expect(s, A, 1, 8 * GIB);
	expect(s, B, 1, 3 * GIB);
	expect(s, C, 1, 12 * GIB);
	expect(s, C, 0, 2 * GIB);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=GPU-1f2e=none,*=2G");
	expect(s, A, 0, AMOUNT_UNLIMITED);
	expect(s, C, 0, 2 * GIB);
}

static void the_same_key_twice_is_refused(void **state)
{
	assert_true(SETTINGS("CUQUOTA_MEMORY_LIMIT=1=2G,1=3G")->refused);
	assert_true(SETTINGS("CUQUOTA_MEMORY_LIMIT=1=2G,01=3G")->refused);
	assert_true(SETTINGS("CUQUOTA_MEMORY_LIMIT=*=2G,*=2G")->refused);
	assert_true(SETTINGS("CUQUOTA_MEMORY_LIMIT=GPU-1f=2G,gpu-1F=3G")->refused);
	assert_non_null(note_with(SETTINGS("CUQUOTA_MEMORY_LIMIT=1=2G,1=3G"),
				  "character 6: the same device twice"));
}

static void malformed_lists_are_refused(void **state)
{
	static const char *const texts[] = {
		"1=2G,",
		",1=2G",
		"1=2G,,0=1G",
		"2G,1=2G",
		"1=2G,3G",
		"=2G",
		"1=",
		"x=2G",
		"GPU-=2G",
		"GPU-xyz=2G",
		"1=2G;0=1G",
		"GPU-1f2e=2G=3G",
		"99999=1G",
		"1,5G",
		"GPU-1f2e3d4c5=1G",
		"none=2G",
		"-1=2G",
	};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char pair[128];
		const struct settings *settings;

		snprintf(pair, sizeof(pair), "CUQUOTA_MEMORY_LIMIT=%s", texts[i]);
		settings = SETTINGS(pair);
		if (!settings->refused || settings->limit.count)
			fail_msg("%s: refused %d, %u entries in force", pair, settings->refused,
				 settings->limit.count);
	}
}

static void a_key_that_names_no_device_is_said(void **state)
{
	const struct settings *const s =
		SETTINGS("CUQUOTA_MEMORY_LIMIT=GPU-1f2e3d=1G,GPU-77=2G,1=3G,2=4G,*=5G",
			 "CUQUOTA_MEMORY_REQUEST=MIG-1f=1G");
	const struct uuid devices[] = {uuid_from(A), uuid_from(B)};
	char text[1024];
	int pipes[2], saved;
	ssize_t length;

	log_setup(LOG_WARN, NULL);
	assert_int_equal(pipe(pipes), 0);
	saved = dup(2);
	dup2(pipes[1], 2);
	assert_true(settings_names_absent(s, devices, 2, 2, true));
	dup2(saved, 2);
	close(pipes[1]);
	length = read(pipes[0], text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	assert_string_equal(text,
			    "cuquota: CUQUOTA_MEMORY_LIMIT names GPU-77, which is not among the "
			    "visible devices\n"
			    "cuquota: CUQUOTA_MEMORY_LIMIT names device 2, but only 2 are visible\n"
			    "cuquota: CUQUOTA_MEMORY_REQUEST names MIG-1f, which is not among the "
			    "visible devices\n");
	assert_false(settings_names_absent(SETTINGS("CUQUOTA_MEMORY_LIMIT=GPU-1f=1G,1=2G"), devices,
					   2, 2, false));
	close(pipes[0]);
	close(saved);
}

/* A limit above the card is what the card has; a promise above it is refused, and so
 * is one above the limit. */
static void a_request_fits_card_and_limit(void **state)
{
	const struct uuid any = uuid_from(A);
	uint64_t bytes;

	assert_int_equal(settings_limit(SETTINGS("CUQUOTA_MEMORY_LIMIT=30G"), &any, 0, 24 * GIB,
					&bytes),
			 0);
	assert_int_equal(bytes, 24 * GIB);
	assert_int_equal(settings_request(SETTINGS("CUQUOTA_MEMORY_REQUEST=24G"), &any, 0, 24 * GIB,
					  &bytes),
			 0);
	assert_int_equal(bytes, 24 * GIB);
	assert_int_equal(settings_request(SETTINGS("CUQUOTA_MEMORY_REQUEST=100%"), &any, 0,
					  24 * GIB, &bytes),
			 0);
	assert_int_equal(bytes, 24 * GIB);
	assert_int_equal(settings_request(SETTINGS("CUQUOTA_MEMORY_REQUEST=24577M"), &any, 0,
					  24 * GIB, &bytes),
			 -EINVAL);
	assert_int_equal(settings_request(SETTINGS("CUQUOTA_MEMORY_REQUEST=30G",
						   "CUQUOTA_MEMORY_LIMIT=30G"),
					  &any, 0, 24 * GIB, &bytes),
			 -EINVAL);
	assert_int_equal(settings_request(SETTINGS("CUQUOTA_MEMORY_REQUEST=3G",
						   "CUQUOTA_MEMORY_LIMIT=2G"),
					  &any, 0, 24 * GIB, &bytes),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_key),
		cmocka_unit_test(the_most_exact_wins_whatever_the_order),
		cmocka_unit_test(the_same_key_twice_is_refused),
		cmocka_unit_test(malformed_lists_are_refused),
		cmocka_unit_test(a_key_that_names_no_device_is_said),
		cmocka_unit_test(a_request_fits_card_and_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
