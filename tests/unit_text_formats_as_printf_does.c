/* Our formatter agrees with libc's on what both know, and cuts instead of overflowing. */
#include "settings_helper.h"
#include "base/text.h"

#define SAME(...)                                              \
	do {                                                   \
		char ours[128], theirs[128];                   \
		struct text text;                              \
		text_init(&text, ours, sizeof(ours));          \
		text_add(&text, __VA_ARGS__);                  \
		snprintf(theirs, sizeof(theirs), __VA_ARGS__); \
		assert_string_equal(ours, theirs);             \
		assert_int_equal(text.length, strlen(theirs)); \
	} while (0)

static void same(void **state)
{
	SAME("plain %% text");
	SAME("%s|%10s|%-10s|%.2s|%.*s|", "abc", "abc", "abc", "abc", 1, "abc");
	SAME("%d %i %u %x", -1, 2147483647, 4294967295u, 0xdeadbeefu);
	SAME("%5d|%-5d|%05d|%5u", -42, -42, -42, 42u);
	SAME("%ld %lu %lx", -9223372036854775807L - 1, 18446744073709551615UL, 0x123456789abcdefUL);
	SAME("%lld %llu %zu %zd %jd %ju", -5LL, 5ULL, (size_t)7, (ssize_t)-7, (intmax_t)-1,
	     (uintmax_t)1);
	SAME("%hhu %hu %02x", (unsigned char)(300 & 0xff), (unsigned short)(70000 & 0xffff), 7u);
	SAME("%c%c", 'o', 'k');
	SAME("%p", (void *)0x1234);
}

static void cut(void **state)
{
	char buffer[16];
	struct text text;

	memset(buffer, 'Z', sizeof(buffer));
	text_init(&text, buffer, 10);
	text_add(&text, "%s", "0123456789abcdef");
	assert_string_equal(buffer, "012345...");
	assert_true(text.cut);
	assert_int_equal(buffer[10], 'Z');
	text_add(&text, "more");
	assert_string_equal(buffer, "012345...");
}

static void foreign(void **state)
{
	char buffer[64];
	struct text text;

	text_init(&text, buffer, sizeof(buffer));
	text_add_foreign(&text, "a\x1b\n\x7f"
				"b\xc3\xa9 long",
			 12, 7);
	assert_string_equal(buffer, "a\\x1b\\x0a\\x7f"
				    "b\xc3\xa9...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same),
		cmocka_unit_test(cut),
		cmocka_unit_test(foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
