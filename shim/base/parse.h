/*
 * Pieces of text and what can be wrong with them; the common ground of the parsers of this floor.
 *
 * Promises: no locale, no allocation, no byte outside the span is read.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const char *at;
	size_t length;
};

/* Where and why a value is refused. `reason` is a constant; `at` points into the value. */
struct parse_error {
	const char *at;
	const char *reason;
};

static inline bool char_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline char char_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit, -1 for anything else. */
static inline int char_hex(char c)
{
	if (char_is_digit(c))
		return c - '0';
	c = char_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number at the beginning of a text, in digits of the base (10 or 16) alone; returns what is
 * behind it, or NULL: there is none, or it is too large. libc's own (strtol, sscanf) are not used:
 * newer headers bind them to names that only a new libc has, and they take blanks and signs. */
const char *parse_number(const char *text, int base, uint64_t *value);

struct span span_of(const char *text);
struct span span_trim(struct span span);
/* Equal without regard to case; `word` is in lower case. */
bool span_is(struct span span, const char *word);
/* Splits at the first `mark`: returns what is before it and leaves in `rest` what is behind it.
 * Without a mark the whole is returned and rest->at becomes NULL. */
struct span span_split(struct span *rest, char mark);
const char *span_find(struct span span, char mark);

/* Sets the error and returns -EINVAL. */
int parse_refuse(struct parse_error *error, const char *at, const char *reason);

/* Refuses what a template, a shell or a compose file left in a value: ${…}, quotes, comments. */
int parse_leftover(struct span value, struct parse_error *error);

#endif
