/* Names of devices: text and bytes there and back, prefixes, case; the old names of instances. */
#include "settings_helper.h"

#define BYTES                                                                                 \
	{                                                                                     \
		0x1f, 0x2e, 0x3d, 0x4c, 0x5b, 0x6a, 0x79, 0x88, 0xa7, 0xb6, 0xc5, 0xd4, 0xe3, \
			0xf2, 0x01, 0x10                                                      \
	}
#define A "GPU-1f2e3d4c-5b6a-7988-a7b6-c5d4e3f20110"

static void there_and_back(void **state)
{
	const struct uuid uuid = uuid_from("gpu-1F2E3D4C-5b6a-7988-A7B6-c5d4e3f20110");
	char text[UUID_TEXT];

	assert_string_equal(uuid_format(&uuid, text), A);
	assert_int_equal(uuid.bytes[0], 0x1f);
	assert_int_equal(uuid.bytes[15], 0x10);
	assert_int_equal(uuid.mig, 0);
	assert_true(uuid_equal(&uuid, &(struct uuid){.bytes = BYTES}));
}

static void a_whole_name_only(void **state)
{
	static const char *const texts[] = {"GPU-1f2e",
					    A "0",
					    "1f2e3d4c-5b6a-7988-a7b6-c5d4e3f20110",
					    "GPU-1f2e3d4c5b6a7988a7b6c5d4e3f20110",
					    "",
					    "GPU",
					    A "/1/0",
					    "MIG-" A,
					    "MIG-" A "/1",
					    "MIG-" A "/1/",
					    "MIG-" A "/1/0/0",
					    "MIG-" A "//0",
					    "MIG-" A "/-1/0",
					    "MIG-" A "/12345/0",
					    "MIG-GPU-1f2e/1/0",
					    "GPU-1f2e3d4c-5b6a-7988-a7b6-c5d4e3f2011g"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct uuid uuid;

		if (!uuid_parse(span_of(texts[i]), &uuid))
			fail_msg("taken: %s", texts[i]);
	}
}

static void prefixes(void **state)
{
	static const struct {
		const char *text;
		bool matches;
	} rows[] = {
		{"GPU-1", true},
		{"GPU-1f", true},
		{"GPU-1F2", true},
		{"gpu-1f2e3d4c", true},
		{"GPU-1f2e3d4c-", true},
		{"GPU-1f2e3d4c-5", true},
		{A, true},
		{"GPU-2", false},
		{"GPU-1e", false},
		{"MIG-1f", false},
		{"GPU-1f2e3d4c-5b6a-7988-a7b6-c5d4e3f2011", true},
		{"GPU-1f2e3d4c-5b6a-7988-a7b6-c5d4e3f20111", false},
	};
	const struct uuid uuid = uuid_from(A);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct parse_error error = {0};
		struct uuid_name name;

		if (uuid_name_parse(span_of(rows[i].text), &name, &error))
			fail_msg("%s: %s", rows[i].text, error.reason);
		if (uuid_name_matches(&name, &uuid) != rows[i].matches)
			fail_msg("%s: matches %d, want %d", rows[i].text, !rows[i].matches,
				 rows[i].matches);
	}
}

/* By its old name an instance is found where its numbers are known, by a part of it never. */
static void old_names(void **state)
{
	const struct uuid gpu = uuid_from(A), old = uuid_from("mig-" A "/7/1");
	struct uuid instance = uuid_from("MIG-00000000-5b6a-7988-a7b6-c5d4e3f20110");
	static const struct {
		const char *text;
		bool matches;
	} rows[] = {
		{"MIG-" A "/7/1", true},
		{"MIG-GPU-1F2E3D4C-5b6a-7988-a7b6-c5d4e3f20110/07/1", true},
		{"MIG-" A "/1/7", false},
		{"MIG-" A "/7/0", false},
		{"MIG-" A "/0/1", false},
		{"MIG-GPU-2f2e3d4c-5b6a-7988-a7b6-c5d4e3f20110/7/1", false},
		{"MIG-0", true},
		{"MIG-1f", false},
		{A, false},
		{"GPU-1", false},
	};
	char text[UUID_TEXT];

	assert_string_equal(uuid_format(&old, text), "MIG-" A "/7/1");
	assert_string_equal(uuid_format(&(struct uuid){.bytes = BYTES,
						       .mig = UUID_MIG_OLD,
						       .gpu_instance = 9999,
						       .compute_instance = 9999},
					text),
			    "MIG-" A "/9999/9999");
	assert_false(uuid_equal(&old, &gpu));
	assert_true(uuid_equal(&old, &old));
	assert_false(uuid_equal(&old, &(struct uuid){.bytes = BYTES, .mig = UUID_MIG_OLD}));
	for (unsigned known = 0; known < 2; known++) {
		for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			const bool old_name = strchr(rows[i].text, '/');
			const bool want = rows[i].matches && (known || !old_name);
			struct parse_error error = {0};
			struct uuid_name name;

			if (uuid_name_parse(span_of(rows[i].text), &name, &error))
				fail_msg("%s: %s", rows[i].text, error.reason);
			if (uuid_name_matches(&name, &instance) != want)
				fail_msg("%s: matches %d, want %d", rows[i].text, !want, want);
		}
		uuid_number(&instance, &gpu, 7, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_names),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(a_whole_name_only),
		cmocka_unit_test(prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
