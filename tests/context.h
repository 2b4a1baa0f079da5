/*
 * For tests that try the same in many ways: which one, in front of the message of a check that
 * fails.
 */
#ifndef TESTS_CONTEXT_H
#define TESTS_CONTEXT_H

#include "helper.h"

static char context_text[192];
TEST_USED __attribute__((format(printf, 1, 2))) static void in_context(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(context_text, sizeof(context_text), format, args);
	va_end(args);
}

#undef FAIL
#define FAIL(...)                                                         \
	((void)(context_text[0] && dprintf(2, "in: %s\n", context_text)), \
	 test_fail(__FILE__, __LINE__, __VA_ARGS__))

#endif
