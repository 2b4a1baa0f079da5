/* Sizes are shown as "2.0 GiB", rounded in the unit that is shown. */
#include "settings_helper.h"

static void shown(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{MIB - 1, "1.0 MiB"},
		{MIB, "1.0 MiB"},
		{2 * GIB, "2.0 GiB"},
		{GIB * 7 / 2, "3.5 GiB"},
		{24 * GIB, "24.0 GiB"},
		{1000 * MIB, "1000.0 MiB"},
		{UINT64_C(1) << 40, "1.0 TiB"},
		{(UINT64_C(1) << 60) * 15, "15.0 EiB"},
		{UINT64_MAX - 1, "16.0 EiB"},
		{UINT64_MAX, "none"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[SIZE_TEXT];

		assert_string_equal(size_format(rows[i].bytes, text), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(shown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
