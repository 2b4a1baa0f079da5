/*
 * Pieces of text; see parse.h. Never reads the locale: every class of characters is spelt out here.
 */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

const char *parse_number(const char *text, int base, uint64_t *value)
{
	const char *at = text;

	*value = 0;
	for (int digit; (digit = char_hex(*at)) >= 0 && digit < base; at++)
		if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit, value))
			return NULL;
	return at > text ? at : NULL;
}

struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

struct span span_trim(struct span span)
{
	while (span.length && char_is_space(span.at[0])) {
		span.at++;
		span.length--;
	}
	while (span.length && char_is_space(span.at[span.length - 1]))
		span.length--;
	return span;
}

bool span_is(struct span span, const char *word)
{
	for (size_t i = 0; i < span.length; i++)
		if (!word[i] || char_lower(span.at[i]) != word[i])
			return false;
	return !word[span.length];
}

const char *span_find(struct span span, char mark)
{
	return span.length ? memchr(span.at, mark, span.length) : NULL;
}

struct span span_split(struct span *rest, char mark)
{
	const struct span whole = *rest;
	const char *const found = span_find(whole, mark);

	if (!found) {
		*rest = (struct span){NULL, 0};
		return whole;
	}
	rest->at = found + 1;
	rest->length = whole.length - (size_t)(rest->at - whole.at);
	return (struct span){whole.at, (size_t)(found - whole.at)};
}

int parse_refuse(struct parse_error *error, const char *at, const char *reason)
{
	error->at = at;
	error->reason = reason;
	return -EINVAL;
}

int parse_leftover(struct span value, struct parse_error *error)
{
	for (size_t i = 0; i < value.length; i++) {
		const char *const at = value.at + i;

		switch (*at) {
		case '$':
			return parse_refuse(error, at,
					    "a variable was left in place; set it where the file "
					    "is read, or write ${NAME:-} to leave it empty");
		case '"':
		case '\'':
		case '`':
			return parse_refuse(error, at,
					    "quotes are not part of a value; remove them");
		case '#':
			return parse_refuse(error, at, "a comment is not allowed behind a value");
		}
	}
	return 0;
}
