/*
 * What is not a size is refused at the character where it goes wrong, with the reason.
 * report: CP-01, CP-06
 */
#include "settings_helper.h"

static const struct {
	const char *text;
	unsigned accept;
	unsigned character; /* from 1 */
	const char *reason; /* part of it */
} rows[] = {
	{"", 0, 1, "empty"},
	{"0", 0, 1, "0 bytes"},
	{"0m", 0, 1, "0 bytes"},
	{"0.0G", 0, 1, "0 bytes"},
	{"0.4B", 0, 1, "0 bytes"},
	{"-1", 0, 1, "negative"},
	{"-4G", 0, 1, "negative"},
	{"+4G", 0, 1, "sign"},
	{"abc", 0, 1, "not a number"},
	{"null", 0, 1, "write none"},
	{"unlimited", 0, 1, "write none"},
	{"none", 0, 1, "not a number"},
	{"4X", 0, 2, "unknown unit"},
	{"4P", 0, 2, "unknown unit"},
	{"1e9", 0, 2, "unknown unit"},
	{"4G4", 0, 3, "behind the unit"},
	{"4Gx", 0, 3, "behind the unit"},
	{"4Gibi", 0, 3, "behind the unit"},
	{"4Bi", 0, 3, "behind the unit"},
	{"4 G", 0, 2, "white space"},
	{"4 G B", 0, 2, "white space"},
	{"4G 5", 0, 3, "behind the unit"},
	{"0x4", 0, 1, "hexadecimal"},
	{"0X4G", 0, 1, "hexadecimal"},
	{".5G", 0, 1, "before the point"},
	{"5.G", 0, 3, "follow the point"},
	{"5.", 0, 3, "follow the point"},
	{"1.5.5G", 0, 4, "second point"},
	{"18446744073709551615", 0, 1, "too large"},
	{"18446744073709551616", 0, 1, "too large"},
	{"99999999999999999999999", 0, 1, "too large"},
	{"16777216T", 0, 1, "too large"},
	{"  16777216T", 0, 3, "too large"},
	{"18014398509481984K", 0, 1, "too large"},
	{"50%", 0, 3, "percentage"},
	{"0%", SIZE_PERCENT, 1, "0 percent"},
	{"101%", SIZE_PERCENT, 1, "100 percent"},
	{"100.01%", SIZE_PERCENT, 1, "100 percent"},
	{"-5%", SIZE_PERCENT, 1, "negative"},
	{"50%G", SIZE_PERCENT, 4, "behind the percent"},
	{"50 %", SIZE_PERCENT, 3, "white space"},
	{"4G # four", 0, 4, "comment"},
	{"\"4G\"", 0, 1, "quotes"},
	{"'4G'", 0, 1, "quotes"},
	{"${GPU_CAP}", 0, 1, "variable"},
	{"$GPU_CAP", 0, 1, "variable"},
	{"\xd9\xa4G", 0, 1, "not a number"},
};

static void each_is_refused(void **state)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct parse_error error = {0};
		struct amount amount;

		if (!size_parse(span_of(rows[i].text), rows[i].accept, &amount, &error))
			fail_msg("\"%s\" is taken as %llu", rows[i].text,
				 (unsigned long long)amount.value);
		if (error.at != rows[i].text + rows[i].character - 1)
			fail_msg("\"%s\": at character %td (%s), want %u", rows[i].text,
				 error.at - rows[i].text + 1, error.reason, rows[i].character);
		if (!strstr(error.reason, rows[i].reason))
			fail_msg("\"%s\": reason \"%s\", want \"%s\"", rows[i].text, error.reason,
				 rows[i].reason);
	}
}

static void zero_and_none_are_taken_where_they_mean_something(void **state)
{
	struct parse_error error;
	struct amount amount;

	assert_int_equal(size_parse(span_of("0"), SIZE_ZERO, &amount, &error), 0);
	assert_int_equal(amount.value, 0);
	assert_int_equal(size_parse(span_of(" NONE "), SIZE_NONE, &amount, &error), 0);
	assert_int_equal(amount.kind, AMOUNT_NONE);
	assert_true(amount_bytes(&amount, GIB) == AMOUNT_UNLIMITED);
}

static void no_byte_behind_the_span_is_read(void **state)
{
	struct parse_error error;
	struct amount amount;

	assert_int_equal(size_parse((struct span){"42GX", 2}, 0, &amount, &error), 0);
	assert_int_equal(amount.value, 42);
	assert_int_equal(size_parse((struct span){"42GX", 3}, 0, &amount, &error), 0);
	assert_true(amount.value == 42 * GIB);
}

static void bad_durations(void **state)
{
	static const char *const texts[] = {"", "10x", "10ms", "m",
					    "-1s", "10 m", "400000000000d", "1:30"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct parse_error error;
		uint64_t ns = 0;

		if (!size_parse_duration(span_of(texts[i]), &ns, &error))
			fail_msg("\"%s\" is taken as %llu ns", texts[i], (unsigned long long)ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_refused),
		cmocka_unit_test(zero_and_none_are_taken_where_they_mean_something),
		cmocka_unit_test(no_byte_behind_the_span_is_read),
		cmocka_unit_test(bad_durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
