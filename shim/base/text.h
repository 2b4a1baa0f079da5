/*
 * Text put together in a buffer of the caller's, for messages from inside somebody else's process.
 *
 * Promises: no allocation, no locale, no lock, no errno; always NUL-terminated; what does
 * not fit is cut and ends in "...". Knows %s %.*s %c %d %i %u %x %p %% with flags 0 and -,
 * width and hh h l ll z j t.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
	char *buffer;
	size_t size;
	size_t length;
	bool cut;
};

void text_init(struct text *text, char *buffer, size_t size);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Adds `length` bytes of foreign text with control characters as \xNN, cut to `most` bytes. */
void text_add_foreign(struct text *text, const char *bytes, size_t length, size_t most);

/* What an errno value (positive or negative) means, in words; "error" for
 * those we do not expect. */
const char *text_errno(int error);

#endif
