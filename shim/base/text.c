/*
 * A small printf; see text.h. Ours because libc's may allocate and follows the program's locale.
 */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

void text_init(struct text *text, char *buffer, size_t size)
{
	*text = (struct text){.buffer = buffer, .size = size};
	if (size)
		buffer[0] = '\0';
}

static void put(struct text *text, char c)
{
	if (text->length + 1 < text->size) {
		text->buffer[text->length++] = c;
		text->buffer[text->length] = '\0';
	} else if (!text->cut) {
		text->cut = true;
		for (size_t i = text->length; i > 0 && i + 3 > text->length; i--)
			text->buffer[i - 1] = '.';
	}
}

struct field {
	bool left;
	bool zero;
	int width;
	int precision; /* -1 without */
};

static void put_padded(struct text *text, const struct field *field, const char *s, size_t length)
{
	const size_t width = field->width > 0 ? (size_t)field->width : 0;
	size_t pad = width > length ? width - length : 0;

	if (!field->left && field->zero && pad && length && *s == '-') {
		put(text, *s++);
		length--;
	}
	for (; !field->left && pad; pad--)
		put(text, field->zero ? '0' : ' ');
	for (size_t i = 0; i < length; i++)
		put(text, s[i]);
	for (; pad; pad--)
		put(text, ' ');
}

static void put_number(struct text *text, const struct field *field, uintmax_t value, unsigned base,
		       bool negative)
{
	char digits[24];
	char *at = digits + sizeof(digits);

	do
		*--at = "0123456789abcdef"[value % base];
	while (value /= base);
	if (negative)
		*--at = '-';
	put_padded(text, field, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_string(struct text *text, const struct field *field, const char *s)
{
	const size_t most = field->precision < 0 ? SIZE_MAX : (size_t)field->precision;

	if (!s)
		s = "(null)";
	put_padded(text, field, s, most == SIZE_MAX ? strlen(s) : strnlen(s, most));
}

enum length { LENGTH_INT,
	      LENGTH_CHAR,
	      LENGTH_SHORT,
	      LENGTH_LONG,
	      LENGTH_LLONG,
	      LENGTH_SIZE,
	      LENGTH_MAX };

static const char *read_length(const char *f, enum length *length)
{
	*length = LENGTH_INT;
	switch (*f) {
	case 'h':
		*length = f[1] == 'h' ? LENGTH_CHAR : LENGTH_SHORT;
		return f + (f[1] == 'h' ? 2 : 1);
	case 'l':
		*length = f[1] == 'l' ? LENGTH_LLONG : LENGTH_LONG;
		return f + (f[1] == 'l' ? 2 : 1);
	case 'z':
	case 't':
		*length = LENGTH_SIZE;
		return f + 1;
	case 'j':
		*length = LENGTH_MAX;
		return f + 1;
	}
	return f;
}

/* A va_list that callees may advance has to travel inside a struct: as an array it decays. */
struct arguments {
	va_list list;
};

static const char *read_count(const char *f, struct arguments *args, int *count)
{
	if (*f == '*') {
		*count = va_arg(args->list, int);
		return f + 1;
	}
	for (*count = 0; *f >= '0' && *f <= '9'; f++)
		if (*count < 10000)
			*count = *count * 10 + (*f - '0');
	return f;
}

static void put_signed(struct text *text, const struct field *field, enum length length,
		       struct arguments *args)
{
	intmax_t value;

	switch (length) {
	case LENGTH_LONG:
		value = va_arg(args->list, long);
		break;
	case LENGTH_LLONG:
		value = va_arg(args->list, long long);
		break;
	case LENGTH_SIZE:
		value = va_arg(args->list, ptrdiff_t);
		break;
	case LENGTH_MAX:
		value = va_arg(args->list, intmax_t);
		break;
	default:
		value = va_arg(args->list, int);
	}
	put_number(text, field, value < 0 ? 0 - (uintmax_t)value : (uintmax_t)value, 10, value < 0);
}

static void put_unsigned(struct text *text, const struct field *field, enum length length,
			 unsigned base, struct arguments *args)
{
	uintmax_t value;

	switch (length) {
	case LENGTH_LONG:
		value = va_arg(args->list, unsigned long);
		break;
	case LENGTH_LLONG:
		value = va_arg(args->list, unsigned long long);
		break;
	case LENGTH_SIZE:
		value = va_arg(args->list, size_t);
		break;
	case LENGTH_MAX:
		value = va_arg(args->list, uintmax_t);
		break;
	case LENGTH_CHAR:
		value = (unsigned char)va_arg(args->list, unsigned);
		break;
	case LENGTH_SHORT:
		value = (unsigned short)va_arg(args->list, unsigned);
		break;
	default:
		value = va_arg(args->list, unsigned);
	}
	put_number(text, field, value, base, false);
}

/* Handles one conversion; `f` is behind the percent sign. Returns what follows it. */
static const char *put_conversion(struct text *text, const char *f, struct arguments *args)
{
	struct field field = {.precision = -1};
	enum length length;
	char c;

	for (;; f++) {
		if (*f == '-')
			field.left = true;
		else if (*f == '0')
			field.zero = true;
		else
			break;
	}
	f = read_count(f, args, &field.width);
	if (*f == '.')
		f = read_count(f + 1, args, &field.precision);
	f = read_length(f, &length);
	switch (*f) {
	case 's':
		put_string(text, &field, va_arg(args->list, const char *));
		break;
	case 'c':
		c = (char)va_arg(args->list, int);
		put_padded(text, &field, &c, 1);
		break;
	case 'd':
	case 'i':
		put_signed(text, &field, length, args);
		break;
	case 'u':
	case 'x':
		put_unsigned(text, &field, length, *f == 'u' ? 10 : 16, args);
		break;
	case 'p':
		put_padded(text, &(struct field){0}, "0x", 2);
		put_number(text, &(struct field){0}, (uintptr_t)va_arg(args->list, void *), 16,
			   false);
		break;
	case '\0':
		return f;
	default:
		put(text, *f);
	}
	return f + 1;
}

void text_vadd(struct text *text, const char *format, va_list list)
{
	struct arguments args;

	va_copy(args.list, list);
	while (*format) {
		if (*format == '%')
			format = put_conversion(text, format + 1, &args);
		else
			put(text, *format++);
	}
	va_end(args.list);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	text_vadd(text, format, list);
	va_end(list);
}

void text_add_foreign(struct text *text, const char *bytes, size_t length, size_t most)
{
	const size_t shown = length < most ? length : most;

	for (size_t i = 0; i < shown; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (c < ' ' || c == 0x7f)
			text_add(text, "\\x%02x", c);
		else
			put(text, (char)c);
	}
	if (shown < length)
		text_add(text, "...");
}

const char *text_errno(int error)
{
	switch (error < 0 ? -error : error) {
	case EACCES:
	case EPERM:
		return "permission denied";
	case EAGAIN:
		return "busy";
	case EBUSY:
		return "busy";
	case EEXIST:
		return "exists already";
	case EFBIG:
		return "too large";
	case EINTR:
		return "interrupted";
	case EINVAL:
		return "not valid";
	case EIO:
		return "input/output error";
	case EISDIR:
		return "is a folder";
	case ELOOP:
		return "too many symbolic links";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case ENAMETOOLONG:
		return "name too long";
	case ENOENT:
		return "no such file or folder";
	case ENOEXEC:
		return "not a program";
	case ENOMEM:
		return "out of memory";
	case ENOSPC:
	case EDQUOT:
		return "no space left";
	case ENOSYS:
	case EOPNOTSUPP:
		return "not supported";
	case ENOTDIR:
		return "not a folder";
	case EPROTO:
		return "not understood";
	case EROFS:
		return "read-only file system";
	case ESTALE:
		return "replaced meanwhile";
	case ETIMEDOUT:
		return "timed out";
	}
	return "error";
}
