/*
 * Sizes, percentages and durations as people write them, and sizes as we show them.
 *
 * Promises: one grammar everywhere; powers of 1024; no locale; a number that does not fit is
 * refused, never wrapped; the error says where and why.
 */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include "base/parse.h"

#include <stdint.h>

enum amount_kind {
	AMOUNT_NONE,	/* "none": no limit, no request */
	AMOUNT_BYTES,	/* value: bytes */
	AMOUNT_PERCENT, /* value: billionths of a percent, of a device's physical memory */
};

struct amount {
	enum amount_kind kind;
	uint64_t value;
};

#define AMOUNT_UNLIMITED UINT64_MAX

enum { /* what else than a positive size is accepted */
       SIZE_PERCENT = 1,
       SIZE_NONE = 2,
       SIZE_ZERO = 4,
       SIZE_USABLE = 8, /* bytes are refused in which nothing fits on any card */
};

/* 0 or -EINVAL with *error set. White space around is ignored; an empty text is an error here. */
int size_parse(struct span text, unsigned accept, struct amount *amount, struct parse_error *error);

/* `10m`, `30s`, `1.5h`, `2d`; a bare number counts seconds. */
int size_parse_duration(struct span text, uint64_t *ns, struct parse_error *error);

/* The bytes that an amount is on a device: a percentage rounded down to 1 MiB, nothing above what
 * the device has. AMOUNT_NONE gives AMOUNT_UNLIMITED. */
uint64_t amount_bytes(const struct amount *amount, uint64_t physical_bytes);

#define SIZE_TEXT 24

/* "2.0 GiB", "512 B", "none" for AMOUNT_UNLIMITED. Returns `text`. */
char *size_format(uint64_t bytes, char text[SIZE_TEXT]);

#endif
