/* CUQUOTA_VISIBLE_DEVICES: all, none, or names and indices in the order written;
 * and the other settings. */
#include "settings_helper.h"

static void lists(void **state)
{
	const struct settings *s = SETTINGS("PATH=/bin");

	assert_int_equal(s->visible.kind, VISIBLE_ALL);
	assert_int_equal(SETTINGS("CUQUOTA_VISIBLE_DEVICES=ALL")->visible.kind, VISIBLE_ALL);
	assert_int_equal(SETTINGS("CUQUOTA_VISIBLE_DEVICES= none ")->visible.kind, VISIBLE_NONE);
	s = SETTINGS("CUQUOTA_VISIBLE_DEVICES=GPU-1F2E, 3 "
		     ",MIG-1f2e3d4c-0000-1111-2222-333344445555"
		     ",MIG-GPU-1f2e3d4c-0000-1111-2222-333344445555/7/0");
	assert_false(s->refused);
	assert_int_equal(s->visible.kind, VISIBLE_LIST);
	assert_int_equal(s->visible.count, 4);
	assert_int_equal(s->visible.key[0].kind, KEY_UUID);
	assert_string_equal(s->visible.key[0].name.text, "GPU-1f2e");
	assert_int_equal(s->visible.key[0].name.digits, 4);
	assert_int_equal(s->visible.key[1].kind, KEY_INDEX);
	assert_int_equal(s->visible.key[1].index, 3);
	assert_int_equal(s->visible.key[2].name.uuid.mig, 1);
	assert_int_equal(s->visible.key[2].name.digits, 32);
	assert_int_equal(s->visible.key[3].name.uuid.mig, UUID_MIG_OLD);
	assert_int_equal(s->visible.key[3].name.uuid.gpu_instance, 7);
	assert_int_equal(s->visible.key[3].name.uuid.compute_instance, 0);
}

static void mistakes(void **state)
{
	static const char *const texts[] = {"0,",
					    ",",
					    "all,0",
					    "*",
					    "-1",
					    "0 1",
					    "1f2e",
					    "GPU-",
					    "0,0",
					    "GPU-1f2e,gpu-1F2E",
					    "MIG-GPU-1f2e/0/0",
					    "nogpu",
					    "0;1"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char pair[128];

		snprintf(pair, sizeof(pair), "CUQUOTA_VISIBLE_DEVICES=%s", texts[i]);
		if (!SETTINGS(pair)->refused_visible)
			fail_msg("%s is taken", pair);
	}
}

static void the_others(void **state)
{
	const struct settings *s = SETTINGS("CUQUOTA_TENANT= team a ", "CUQUOTA_DIR=/tmp/x",
					    "CUQUOTA_REQUEST_KEEP=30s", "CUQUOTA_ON_ERROR=Allow",
					    "CUQUOTA_LOG=debug", "CUQUOTA_LOG_FILE=/tmp/log");

	assert_int_equal(s->notes, 0);
	assert_string_equal(s->tenant, "team a");
	assert_string_equal(s->dir, "/tmp/x");
	assert_string_equal(settings_folder(s), "/tmp/x");
	assert_true(s->request_keep_ns == 30 * UINT64_C(1000000000));
	assert_int_equal(s->on_error, ON_ERROR_ALLOW);
	assert_int_equal(s->log_level, LOG_DEBUG);
	assert_string_equal(s->log_file, "/tmp/log");
	s = SETTINGS("PATH=/bin");
	assert_true(s->request_keep_ns == 600 * UINT64_C(1000000000));
	assert_string_equal(s->tenant, "");
	assert_int_equal(s->on_error, ON_ERROR_DENY);
	assert_int_equal(s->log_level, LOG_WARN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
