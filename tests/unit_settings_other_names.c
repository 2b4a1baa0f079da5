/*
 * The names that other products use are understood; a CUQUOTA_ name wins over them.
 */
#include "settings_helper.h"

static uint64_t limit(const struct settings *settings, unsigned index)
{
	const struct uuid uuid = uuid_from("GPU-1f2e3d4c-0000-1111-2222-333344445555");
	uint64_t bytes;

	if (settings->refused) {
		print_notes(settings);
		fail_msg("refused");
	}
	assert_int_equal(settings_limit(settings, &uuid, index, 24 * GIB, &bytes), 0);
	return bytes;
}

static uint64_t request(const struct settings *settings)
{
	const struct uuid uuid = uuid_from("GPU-1f2e3d4c-0000-1111-2222-333344445555");
	uint64_t bytes;

	assert_int_equal(settings_request(settings, &uuid, 0, 24 * GIB, &bytes), 0);
	return bytes;
}

static void each_is_understood(void **state)
{
	const struct settings *s;

	assert_int_equal(limit(SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=4096m"), 0), 4 * GIB);
	assert_int_equal(limit(SETTINGS("NVIDIA_GPU_MEMORY_LIMIT=4Gi"), 0), 4 * GIB);
	assert_int_equal(request(SETTINGS("NVIDIA_GPU_MEMORY_REQUEST=1Gi")), GIB);
	s = SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=4g", "CUDA_DEVICE_MEMORY_LIMIT_1=1g");
	assert_int_equal(limit(s, 0), 4 * GIB);
	assert_int_equal(limit(s, 1), GIB);
	s = SETTINGS("CUDA_DEVICE_MEMORY_LIMIT_11=1g", "NVIDIA_GPU_MEMORY_LIMIT=2g");
	assert_int_equal(limit(s, 11), GIB);
	assert_int_equal(limit(s, 1), 2 * GIB);
}

static void zero_means_none_only_there(void **state)
{
	const struct settings *s;

	assert_true(limit(SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=0"), 0) == AMOUNT_UNLIMITED);
	assert_true(limit(SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=0m"), 0) == AMOUNT_UNLIMITED);
	s = SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=2g", "CUDA_DEVICE_MEMORY_LIMIT_0=0");
	assert_int_equal(limit(s, 0), 2 * GIB);
	assert_int_equal(limit(SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=0", "NVIDIA_GPU_MEMORY_LIMIT=2G"),
			       0),
			 2 * GIB);
	assert_true(SETTINGS("NVIDIA_GPU_MEMORY_LIMIT=0")->refused);
}

static void our_name_wins(void **state)
{
	const struct settings *s = SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=4g",
					    "CUQUOTA_MEMORY_LIMIT=1g", "NVIDIA_GPU_MEMORY_LIMIT=3g",
					    "CUDA_DEVICE_MEMORY_LIMIT_0=2g");

	assert_int_equal(limit(s, 0), GIB);
	s = SETTINGS("CUDA_DEVICE_MEMORY_LIMIT=junk", "CUQUOTA_MEMORY_LIMIT=1g");
	assert_int_equal(limit(s, 0), GIB);
	s = SETTINGS("CUQUOTA_MEMORY_LIMIT=", "CUDA_DEVICE_MEMORY_LIMIT=4g");
	assert_int_equal(limit(s, 0), 4 * GIB);
	s = SETTINGS("CUQUOTA_MEMORY_REQUEST=1g", "NVIDIA_GPU_MEMORY_REQUEST=3g");
	assert_int_equal(request(s), GIB);
}

static void a_bad_one_is_refused_by_its_own_name(void **state)
{
	assert_non_null(note_with(SETTINGS("CUDA_DEVICE_MEMORY_LIMIT_3=4X"),
				  "CUDA_DEVICE_MEMORY_LIMIT_3=\"4X\" is refused at character 2"));
	assert_non_null(note_with(SETTINGS("NVIDIA_GPU_MEMORY_REQUEST=-1"),
				  "NVIDIA_GPU_MEMORY_REQUEST=\"-1\" is refused at character 1"));
}

static void a_misspelt_name_of_ours_is_said(void **state)
{
	const struct settings *const s = SETTINGS("CUQUOTA_MEMORY_LIMTI=4g", "OTHER_THING=1",
						  "CUQUOTA_LIB=/x");

	assert_int_equal(s->notes, 1);
	assert_int_equal(s->note[0].level, LOG_WARN);
	assert_non_null(note_with(s, "CUQUOTA_MEMORY_LIMTI is not a setting"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_understood),
		cmocka_unit_test(zero_means_none_only_there),
		cmocka_unit_test(our_name_wins),
		cmocka_unit_test(a_bad_one_is_refused_by_its_own_name),
		cmocka_unit_test(a_misspelt_name_of_ours_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
