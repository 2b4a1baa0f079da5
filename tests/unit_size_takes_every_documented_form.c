/*
 * Each way to write a size gives the documented bytes.
 * report: CP-01
 */
#include "settings_helper.h"

#define K UINT64_C(1024)

static const struct {
	const char *text;
	uint64_t bytes;
} sizes[] = {
	{"4G", 4 * GIB},
	{"4Gi", 4 * GIB},
	{"4GiB", 4 * GIB},
	{"4GB", 4 * GIB},
	{"4gb", 4 * GIB},
	{"4096M", 4 * GIB},
	{"4096MiB", 4 * GIB},
	{"4194304K", 4 * GIB},
	{"4294967296", 4 * GIB},
	{"4294967296B", 4 * GIB},
	{"4294967296b", 4 * GIB},
	{"4gIb", 4 * GIB},
	{"4GI", 4 * GIB},
	{"1", 1},
	{"1b", 1},
	{"1k", K},
	{"1KB", K},
	{"1kib", K},
	{"1m", MIB},
	{"1t", GIB *K},
	{"1TiB", GIB *K},
	{" \t4G\n", 4 * GIB},
	{"0004G", 4 * GIB},
	{"1.5g", GIB * 3 / 2},
	{"0.5M", MIB / 2},
	{"2.25K", 2304},
	{"1.999999999999999999999G", 2 * GIB - 1},
	{"0.1G", 107374182},
	{"1.0", 1},
	{"1.9B", 1},
	{"512MiB", 512 * MIB},
	{"16777215T", UINT64_C(16777215) << 40},
	{"18446744073709551614", UINT64_MAX - 1},
};

static void sizes_are_powers_of_1024(void **state)
{
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct parse_error error = {0};
		struct amount amount = {0};

		if (size_parse(span_of(sizes[i].text), 0, &amount, &error))
			fail_msg("\"%s\" is refused: %s", sizes[i].text, error.reason);
		if (amount.kind != AMOUNT_BYTES || amount.value != sizes[i].bytes)
			fail_msg("\"%s\" is %llu bytes, want %llu", sizes[i].text,
				 (unsigned long long)amount.value,
				 (unsigned long long)sizes[i].bytes);
	}
}

static void percentages_are_of_the_device_rounded_down_to_a_mebibyte(void **state)
{
	static const struct {
		const char *text;
		uint64_t physical, bytes;
	} rows[] = {
		{"50%", 24 * GIB, 12 * GIB},
		{"100%", 24 * GIB, 24 * GIB},
		{"33.3%", 24 * GIB, 8183 * MIB},
		{"0.5%", 24 * GIB, 122 * MIB},
		{"100.0%", 81559 * MIB, 81559 * MIB},
		{"99.999%", 100 * MIB, 99 * MIB},
		{"50%", 25 * MIB - 1, 12 * MIB},
		{"0.0001%", GIB, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct parse_error error = {0};
		struct amount amount = {0};
		uint64_t bytes;

		if (size_parse(span_of(rows[i].text), SIZE_PERCENT, &amount, &error))
			fail_msg("\"%s\" is refused: %s", rows[i].text, error.reason);
		bytes = amount_bytes(&amount, rows[i].physical);
		if (bytes != rows[i].bytes)
			fail_msg("%s of %llu is %llu, want %llu", rows[i].text,
				 (unsigned long long)rows[i].physical, (unsigned long long)bytes,
				 (unsigned long long)rows[i].bytes);
	}
}

static void a_size_above_the_device_is_the_device(void **state)
{
	const struct amount amount = {AMOUNT_BYTES, 999 * GIB};

	assert_int_equal(amount_bytes(&amount, 24 * GIB), 24 * GIB);
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{"30s", 30000},
		{"10m", 600000},
		{"1h", 3600000},
		{"1.5h", 5400000},
		{"2d", 172800000},
		{"0", 0},
		{"0s", 0},
		{"90", 90000},
		{" 1M ", 60000},
		{"0.25s", 250},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct parse_error error = {0};
		uint64_t ns = 0;

		if (size_parse_duration(span_of(rows[i].text), &ns, &error))
			fail_msg("\"%s\" is refused: %s", rows[i].text, error.reason);
		if (ns != rows[i].ms * 1000000)
			fail_msg("\"%s\" is %llu ns, want %llu ms", rows[i].text,
				 (unsigned long long)ns, (unsigned long long)rows[i].ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(percentages_are_of_the_device_rounded_down_to_a_mebibyte),
		cmocka_unit_test(a_size_above_the_device_is_the_device),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
