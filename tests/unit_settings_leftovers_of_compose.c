/*
 * What compose files and env_files leave behind: nothing counts as unset, the rest is refused with
 * a hint. report: CP-04, CP-06
 */
#include "settings_helper.h"

static void nothing_is_unset(void **state)
{
	static const char *const pairs[] = {"CUQUOTA_MEMORY_LIMIT=", "CUQUOTA_MEMORY_LIMIT=  \t",
					    "CUQUOTA_MEMORY_REQUEST=", "CUQUOTA_VISIBLE_DEVICES=",
					    "CUQUOTA_TENANT=", "CUQUOTA_DIR=", "CUQUOTA_ON_ERROR=",
					    "CUQUOTA_REQUEST_KEEP=", "CUQUOTA_LOG="};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const struct settings *const s = SETTINGS(pairs[i]);

		if (s->refused || s->notes || s->limit.count || s->request.count ||
		    s->visible.kind != VISIBLE_ALL)
			fail_msg("%s: refused %d, %u notes, %u limits", pairs[i], s->refused,
				 s->notes, s->limit.count);
	}
}

static void the_rest_is_refused_with_a_hint(void **state)
{
	static const struct {
		const char *pair, *hint;
	} rows[] = {
		{"CUQUOTA_MEMORY_LIMIT=${GPU_CAP}", "${NAME:-}"},
		{"CUQUOTA_MEMORY_LIMIT=${GPU_CAP:-4G}", "variable"},
		{"CUQUOTA_MEMORY_LIMIT=$GPU_CAP", "variable"},
		{"CUQUOTA_MEMORY_LIMIT=null", "write none"},
		{"CUQUOTA_MEMORY_LIMIT=4G # 4G", "comment"},
		{"CUQUOTA_MEMORY_LIMIT=\"4G\"", "remove them"},
		{"CUQUOTA_MEMORY_LIMIT='4G'", "remove them"},
		{"CUQUOTA_MEMORY_LIMIT=0", "for no limit write none"},
		{"CUQUOTA_MEMORY_LIMIT=0m", "for no limit write none"},
		{"CUQUOTA_MEMORY_REQUEST=${X}", "variable"},
		{"CUQUOTA_VISIBLE_DEVICES=${X}", "variable"},
		{"CUQUOTA_TENANT=${X}", "variable"},
		{"CUQUOTA_DIR=/run/${X}", "variable"},
		{"CUQUOTA_REQUEST_KEEP=${X}", "variable"},
		{"CUQUOTA_ON_ERROR=${X}", "variable"},
		{"CUDA_DEVICE_MEMORY_LIMIT=${X}", "variable"},
		{"CUDA_DEVICE_MEMORY_LIMIT_0=${X}", "variable"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct settings *const s = SETTINGS(rows[i].pair);

		if (!s->refused || !note_with(s, rows[i].hint)) {
			print_notes(s);
			fail_msg("%s: refused %d, want a note with \"%s\"", rows[i].pair,
				 s->refused, rows[i].hint);
		}
	}
}

static void a_request_of_zero_is_none(void **state)
{
	const struct uuid uuid = uuid_from("GPU-1f2e3d4c-0000-1111-2222-333344445555");
	const struct settings *const s = SETTINGS("CUQUOTA_MEMORY_REQUEST=0");
	uint64_t bytes = 1;

	assert_false(s->refused);
	assert_int_equal(settings_request(s, &uuid, 0, GIB, &bytes), 0);
	assert_int_equal(bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_unset),
		cmocka_unit_test(the_rest_is_refused_with_a_hint),
		cmocka_unit_test(a_request_of_zero_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
