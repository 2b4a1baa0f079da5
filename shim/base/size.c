/*
 * Sizes; see size.h. Integers only: a double would follow the rounding mode
 * and lose bytes above 8 PiB.
 */
#include "base/size.h"
#include "base/text.h"

#include <errno.h>

#define MIB (UINT64_C(1) << 20)
#define LEAST (2 * MIB)			  /* what drivers take memory in */
#define PERCENT_UNIT UINT64_C(1000000000) /* one percent, as amounts count it */
#define FRACTION_DIGITS 18		  /* more cannot change a byte */
#define SECOND_NS UINT64_C(1000000000)

/* whole + fraction / scale */
struct number {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;
};

static int too_large(struct parse_error *error, const char *at)
{
	return parse_refuse(error, at, "the number is too large");
}

static int read_fraction(struct span *text, struct number *number, struct parse_error *error)
{
	unsigned kept = 0;
	size_t i = 0;

	for (; i < text->length && char_is_digit(text->at[i]); i++) {
		if (kept == FRACTION_DIGITS)
			continue;
		number->fraction = number->fraction * 10 + (uint64_t)(text->at[i] - '0');
		number->scale *= 10;
		kept++;
	}
	if (!i)
		return parse_refuse(error, text->at, "a digit must follow the point");
	text->at += i;
	text->length -= i;
	return 0;
}

static int refuse_start(struct span text, struct parse_error *error)
{
	if (text.at[0] == '-')
		return parse_refuse(error, text.at, "a negative number");
	if (text.at[0] == '+')
		return parse_refuse(error, text.at, "a sign is not allowed");
	if (text.at[0] == '.')
		return parse_refuse(error, text.at, "a digit must stand before the point");
	if (span_is(text, "null") || span_is(text, "unlimited") || span_is(text, "inf") ||
	    span_is(text, "infinity") || span_is(text, "max") || span_is(text, "auto"))
		return parse_refuse(error, text.at, "not a number; for no limit write none");
	return parse_refuse(error, text.at, "not a number");
}

/* Reads digits[.digits] and leaves in *text what follows. */
static int read_number(struct span *text, struct number *number, struct parse_error *error)
{
	const char *const start = text->at;
	size_t i = 0;

	*number = (struct number){.scale = 1};
	if (!text->length)
		return parse_refuse(error, text->at, "the value is empty");
	if (!char_is_digit(text->at[0]))
		return refuse_start(*text, error);
	if (text->length > 1 && text->at[0] == '0' && char_lower(text->at[1]) == 'x')
		return parse_refuse(error, text->at, "hexadecimal numbers are not allowed");
	for (; i < text->length && char_is_digit(text->at[i]); i++) {
		if (__builtin_mul_overflow(number->whole, 10, &number->whole) ||
		    __builtin_add_overflow(number->whole, (uint64_t)(text->at[i] - '0'),
					   &number->whole))
			return too_large(error, start);
	}
	text->at += i;
	text->length -= i;
	if (text->length && text->at[0] == '.') {
		text->at++;
		text->length--;
		return read_fraction(text, number, error);
	}
	return 0;
}

/* number * factor, rounded down. */
static int scale_number(const struct number *number, uint64_t factor, uint64_t *value)
{
	const unsigned __int128 whole = (unsigned __int128)number->whole * factor;
	const unsigned __int128 part = (unsigned __int128)number->fraction * factor / number->scale;

	if (whole + part >= AMOUNT_UNLIMITED)
		return -ERANGE;
	*value = (uint64_t)(whole + part);
	return 0;
}

static int refuse_unit(struct span unit, struct parse_error *error)
{
	if (char_is_space(unit.at[0]))
		return parse_refuse(error, unit.at,
				    "white space inside a size; the unit must follow the number at "
				    "once");
	if (unit.at[0] == '.')
		return parse_refuse(error, unit.at, "a second point");
	return parse_refuse(error, unit.at,
			    "unknown unit; there are B K M G T and their KiB, KB forms");
}

static int read_unit(struct span unit, unsigned *shift, struct parse_error *error)
{
	static const char units[] = "bkmgt";
	struct span tail;

	*shift = 0;
	if (!unit.length)
		return 0;
	for (unsigned i = 0; units[i]; i++) {
		if (char_lower(unit.at[0]) != units[i])
			continue;
		tail = (struct span){unit.at + 1, unit.length - 1};
		*shift = 10 * i;
		if (!tail.length ||
		    (i && (span_is(tail, "i") || span_is(tail, "b") || span_is(tail, "ib"))))
			return 0;
		return parse_refuse(error, tail.at, "text behind the unit");
	}
	return refuse_unit(unit, error);
}

static int finish_percent(const struct number *number, const char *start, struct amount *amount,
			  struct parse_error *error)
{
	if (number->whole > 100 || (number->whole == 100 && number->fraction))
		return parse_refuse(error, start, "more than 100 percent");
	if (!number->whole && !number->fraction)
		return parse_refuse(error, start, "0 percent; for no limit write none");
	amount->kind = AMOUNT_PERCENT;
	return scale_number(number, PERCENT_UNIT, &amount->value);
}

static int refuse_least(bool has_unit, const char *start, struct parse_error *error)
{
	if (has_unit)
		return parse_refuse(error, start,
				    "a card hands out 2 MiB at least, so nothing fits");
	return parse_refuse(error, start,
			    "a number without a unit counts bytes, too few for anything; is G "
			    "missing?");
}

int size_parse(struct span text, unsigned accept, struct amount *amount, struct parse_error *error)
{
	struct span rest = span_trim(text);
	const char *const start = rest.at;
	struct number number;
	unsigned shift;

	if (parse_leftover(rest, error))
		return -EINVAL;
	if ((accept & SIZE_NONE) && span_is(rest, "none")) {
		*amount = (struct amount){.kind = AMOUNT_NONE};
		return 0;
	}
	if (read_number(&rest, &number, error))
		return -EINVAL;
	if (rest.length && rest.at[0] == '%') {
		if (!(accept & SIZE_PERCENT))
			return parse_refuse(error, rest.at, "a percentage is not allowed here");
		if (rest.length > 1)
			return parse_refuse(error, rest.at + 1, "text behind the percent sign");
		return finish_percent(&number, start, amount, error);
	}
	if (read_unit(rest, &shift, error))
		return -EINVAL;
	amount->kind = AMOUNT_BYTES;
	if (scale_number(&number, UINT64_C(1) << shift, &amount->value))
		return too_large(error, start);
	if (!amount->value && !(accept & SIZE_ZERO))
		return parse_refuse(error, start, "0 bytes; for no limit write none");
	if ((accept & SIZE_USABLE) && amount->value && amount->value < LEAST)
		return refuse_least(rest.length, start, error);
	return 0;
}

int size_parse_duration(struct span text, uint64_t *ns, struct parse_error *error)
{
	static const struct {
		char unit;
		unsigned seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	struct span rest = span_trim(text);
	const char *const start = rest.at;
	unsigned seconds = rest.length ? 0 : 1;
	struct number number;

	if (parse_leftover(rest, error) || read_number(&rest, &number, error))
		return -EINVAL;
	if (!rest.length)
		seconds = 1;
	for (unsigned i = 0; rest.length == 1 && i < sizeof(units) / sizeof(*units); i++)
		if (char_lower(rest.at[0]) == units[i].unit)
			seconds = units[i].seconds;
	if (!seconds)
		return parse_refuse(error, rest.at, "unknown unit of time; there are s m h d");
	if (scale_number(&number, seconds * SECOND_NS, ns))
		return too_large(error, start);
	return 0;
}

uint64_t amount_bytes(const struct amount *amount, uint64_t physical_bytes)
{
	unsigned __int128 bytes;

	switch (amount->kind) {
	case AMOUNT_NONE:
		return AMOUNT_UNLIMITED;
	case AMOUNT_PERCENT:
		bytes = (unsigned __int128)physical_bytes * amount->value /
			((unsigned __int128)100 * PERCENT_UNIT);
		return (uint64_t)bytes & ~(MIB - 1);
	case AMOUNT_BYTES:
		break;
	}
	return amount->value < physical_bytes ? amount->value : physical_bytes;
}

char *size_format(uint64_t bytes, char out[SIZE_TEXT])
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct text text;
	unsigned unit = 0;
	uint64_t tenths;

	text_init(&text, out, SIZE_TEXT);
	if (bytes == AMOUNT_UNLIMITED) {
		text_add(&text, "none");
		return out;
	}
	if (bytes < 1024) {
		text_add(&text, "%u B", (unsigned)bytes);
		return out;
	}
	/* Rounded in the unit it is shown in: 1023.96 KiB becomes 1.0 MiB. */
	for (;; unit++) {
		const unsigned __int128 one = (unsigned __int128)1 << (10 * (unit + 1));

		tenths = (uint64_t)(((unsigned __int128)bytes * 10 + one / 2) / one);
		if (tenths < 10240 || unit + 1 == sizeof(names) / sizeof(*names))
			break;
	}
	text_add(&text, "%llu.%u %s", (unsigned long long)(tenths / 10), (unsigned)(tenths % 10),
		 names[unit]);
	return out;
}
