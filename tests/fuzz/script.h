/*
 * Inputs that are little programs: one word with numbers on each line, `#` for a remark. A target
 * says which words there are; what it does not know is passed over, a number that is missing is 0.
 * As a fuzzer they are mutated line by line, so that most of what is tried means something.
 */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include "fuzz.h"

UNGUIDED

#define SCRIPT_LINES 400u
#define SCRIPT_ARGS 4u

struct script_word {
	const char *name;
	unsigned args;
};

/* The target's, ended by a word without a name. */
extern const struct script_word script_words[];

struct script_line {
	unsigned word;
	uint64_t arg[SCRIPT_ARGS];
};

static uint64_t script_number(const char **at, const char *end)
{
	uint64_t value = 0;
	unsigned base = 10;

	while (*at < end && **at == ' ')
		++*at;
	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x') {
		base = 16;
		*at += 2;
	}
	for (; *at < end; ++*at) {
		static const char digits[] = "0123456789abcdef";
		const char *const digit = **at ? strchr(digits, **at) : NULL;

		if (!digit || (unsigned)(digit - digits) >= base)
			break;
		value = value * base + (unsigned)(digit - digits);
	}
	return value;
}

static bool script_line(const char *at, const char *end, struct script_line *line)
{
	for (line->word = 0; script_words[line->word].name; line->word++) {
		const char *const name = script_words[line->word].name;
		const size_t length = strlen(name);

		if ((size_t)(end - at) < length || strncmp(at, name, length) ||
		    (at + length < end && at[length] != ' '))
			continue;
		at += length;
		for (unsigned i = 0; i < SCRIPT_ARGS; i++)
			line->arg[i] =
				i < script_words[line->word].args ? script_number(&at, end) : 0;
		return true;
	}
	return false;
}

static unsigned script_read(const uint8_t *data, size_t size,
			    struct script_line lines[SCRIPT_LINES])
{
	const char *at = (const char *)data, *const end = at + size;
	unsigned count = 0;

	while (at < end && count < SCRIPT_LINES) {
		const char *const newline = memchr(at, '\n', (size_t)(end - at));
		const char *const stop = newline ? newline : end;

		count += script_line(at, stop, &lines[count]);
		at = stop + 1;
	}
	return count;
}

#ifdef FUZZ_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
				 size_t two_size, uint8_t *out, size_t most, unsigned seed);

static uint64_t script_seed;
static uint32_t script_random(uint32_t below)
{
	script_seed = script_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(script_seed >> 33) % below;
}

/* Small ones most, then powers of two and their neighbours. */
static uint64_t script_value(void)
{
	switch (script_random(8)) {
	case 0:
		return (UINT64_C(1) << script_random(64)) - 1;
	case 1:
		return UINT64_C(1) << script_random(64);
	case 2:
		return (uint64_t)script_random(1u << 31) << script_random(33);
	case 3:
		return UINT64_MAX - script_random(3);
	case 4:
		return script_random(300);
	default:
		return script_random(8);
	}
}

static void script_make(struct script_line *line)
{
	unsigned words = 0;

	while (script_words[words].name)
		words++;
	line->word = script_random(words);
	for (unsigned i = 0; i < SCRIPT_ARGS; i++)
		line->arg[i] = script_value();
}

static void script_mutate_once(struct script_line *lines, unsigned *count)
{
	const unsigned at = *count ? script_random(*count) : 0,
		       other = *count ? script_random(*count) : 0;
	struct script_line kept;

	switch (*count ? script_random(8) : 0) {
	case 0:
	case 1:
		if (*count == SCRIPT_LINES)
			return;
		memmove(&lines[at + 1], &lines[at], (*count - at) * sizeof(*lines));
		if (script_random(3) && *count)
			lines[at] = lines[other + (other > at)];
		else
			script_make(&lines[at]);
		++*count;
		return;
	case 2:
		memmove(&lines[at], &lines[at + 1], (*count - at - 1) * sizeof(*lines));
		--*count;
		return;
	case 3:
		kept = lines[at];
		lines[at] = lines[other];
		lines[other] = kept;
		return;
	case 4:
		script_make(&lines[at]);
		return;
	case 5:
		lines[at].arg[script_random(SCRIPT_ARGS)] += script_random(2) ? 1 : UINT64_MAX;
		return;
	default:
		lines[at].arg[script_random(SCRIPT_ARGS)] = script_value();
	}
}

static size_t script_print(const struct script_line *lines, unsigned count, uint8_t *data,
			   size_t most)
{
	size_t size = 0;

	for (unsigned i = 0; i < count; i++) {
		char text[128];
		int length = snprintf(text, sizeof(text), "%s", script_words[lines[i].word].name);

		for (unsigned k = 0; k < script_words[lines[i].word].args; k++)
			length += snprintf(text + length, sizeof(text) - (size_t)length,
					   lines[i].arg[k] > 9999 ? " 0x%llx" : " %llu",
					   (unsigned long long)lines[i].arg[k]);
		text[length++] = '\n';
		if (size + (size_t)length > most)
			break;
		memcpy(data + size, text, (size_t)length);
		size += (size_t)length;
	}
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	static struct script_line lines[SCRIPT_LINES + 1];
	unsigned count;

	script_seed = seed * 2654435761u + 1;
	if (!script_random(50))
		return LLVMFuzzerMutate(data, size, most);
	count = script_read(data, size, lines);
	for (unsigned i = 1 + script_random(4); i; i--)
		script_mutate_once(lines, &count);
	return script_print(lines, count, data, most);
}

/* The beginning of one and the end of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
				 size_t two_size, uint8_t *out, size_t most, unsigned seed)
{
	static struct script_line a[SCRIPT_LINES], b[SCRIPT_LINES];
	const unsigned a_count = script_read(one, one_size, a),
		       b_count = script_read(two, two_size, b);
	unsigned cut, from;
	size_t size;

	script_seed = seed * 2654435761u + 3;
	cut = script_random(a_count + 1);
	from = script_random(b_count + 1);
	size = script_print(a, cut, out, most);
	return size + script_print(b + from, b_count - from, out + size, most - size);
}

#endif

GUIDED

#endif
