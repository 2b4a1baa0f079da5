/*
 * Parsing of SIMGPU_*. See config.h and the table of settings in README.md.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const struct config *config_ready;

static struct config config;

bool config_size(const char *text, const char **end, uint64_t *bytes)
{
	char *rest;
	double value;
	uint64_t unit = 1;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &rest);
	switch (*rest | 0x20) {
	case 'k':
		unit = 1ULL << 10;
		rest++;
		break;
	case 'm':
		unit = 1ULL << 20;
		rest++;
		break;
	case 'g':
		unit = 1ULL << 30;
		rest++;
		break;
	case 't':
		unit = 1ULL << 40;
		rest++;
		break;
	}
	*bytes = (uint64_t)(value * (double)unit);
	*end = rest;
	return true;
}

static void complain(const char *name, const char *value)
{
	fprintf(stderr, "simgpu: %s=%s is not understood\n", name, value);
}

static uint64_t size_setting(const char *name, uint64_t otherwise)
{
	const char *const value = getenv(name);
	const char *end;
	uint64_t bytes;

	if (!value || !*value)
		return otherwise;
	if (config_size(value, &end, &bytes) && !*end)
		return bytes;
	complain(name, value);
	return otherwise;
}

uint64_t config_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void config_name_uuid(unsigned char u[16], const uint64_t seed, const char *prefix, char text[64])
{
	const uint64_t a = config_mix(seed), b = config_mix(a);

	memcpy(u, &a, 8);
	memcpy(u + 8, &b, 8);
	u[6] = (u[6] & 0x0f) | 0x40;
	u[8] = (u[8] & 0x3f) | 0x80;
	snprintf(text, 64,
		 "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix,
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

static void name_card(struct card *card, unsigned int index)
{
	static const unsigned char bus[CARDS_MAX] = {0x07, 0x0f, 0x17, 0x1f, 0x27, 0x3b,
						     0x47, 0x5e, 0x86, 0x8f, 0x97, 0xaf,
						     0xb7, 0xca, 0xd8, 0xe3};

	/* By its size too: another card has a ledger of its own. */
	config_name_uuid(card->uuid, (index + 1) ^ card->bytes, "GPU-", card->uuid_text);
	snprintf(card->name, sizeof(card->name), "SimGPU S%u %uGB", index,
		 (unsigned int)((card->bytes + (1U << 29)) >> 30));
	snprintf(card->serial, sizeof(card->serial), "16502240%05u", index + 1);
	card->bus = bus[index];
	card->pci_id = 0x51d010deU + (index << 16);
}

/* "2x24G", "24G,16G,8G", "2x24G,8G" */
static bool parse_cards(struct config *c, const char *text)
{
	c->cards = 0;
	for (;;) {
		uint64_t bytes;
		unsigned long count = 1;
		char *rest;

		count = strtoul(text, &rest, 10);
		if (rest != text && *rest == 'x')
			text = rest + 1;
		else
			count = 1;
		if (!config_size(text, &text, &bytes) || bytes < (64U << 20) || bytes >= 1ULL << 39)
			return false;
		while (count--) {
			if (c->cards == CARDS_MAX)
				return false;
			c->card[c->cards++].bytes = bytes & ~((1ULL << 21) - 1);
		}
		if (!*text)
			return c->cards > 0;
		if (*text++ != ',')
			return false;
	}
}

static bool parse_order(struct config *c, const char *text)
{
	unsigned int seen = 0, n = 0;
	unsigned int i, k;

	for (i = 0; i < c->cards; i++)
		c->cuda_order[i] = c->cards - 1 - i;
	if (!text || !*text || !strcmp(text, "reverse"))
		return true;
	if (!strcmp(text, "pci")) {
		for (i = 0; i < c->cards; i++)
			c->cuda_order[i] = i;
		return true;
	}
	if (!strcmp(text, "largest")) {
		for (i = 1; i < c->cards; i++)
			for (k = i; k && c->card[c->cuda_order[k]].bytes >
						 c->card[c->cuda_order[k - 1]].bytes;
			     k--) {
				const unsigned int t = c->cuda_order[k];

				c->cuda_order[k] = c->cuda_order[k - 1];
				c->cuda_order[k - 1] = t;
			}
		return true;
	}
	for (;;) {
		char *rest;
		const unsigned long v = strtoul(text, &rest, 10);

		if (rest == text || v >= c->cards || (seen & (1U << v)))
			return false;
		seen |= 1U << v;
		c->cuda_order[n++] = (unsigned int)v;
		if (!*rest)
			return n == c->cards;
		if (*rest != ',')
			return false;
		text = rest + 1;
	}
}

static void parse(void)
{
	struct config *const c = &config;
	const char *value;
	unsigned int i;

	value = getenv("SIMGPU_DEVICES");
	if (!value || !*value || !parse_cards(c, value)) {
		if (value && *value)
			complain("SIMGPU_DEVICES", value);
		parse_cards(c, "24G,16G");
	}
	for (i = 0; i < c->cards; i++)
		name_card(&c->card[i], i);
	for (i = 0; i < c->cards; i++)
		c->card[i].minor = c->cards - 1 - i;
	c->devices = c->cards;
	c->version = (unsigned int)size_setting("SIMGPU_VERSION", 13050);
	value = getenv("SIMGPU_MIG");
	if (value && *value && !config_divide(c, value))
		complain("SIMGPU_MIG", value);
	value = getenv("SIMGPU_CUDA_ORDER");
	if (!parse_order(c, value)) {
		complain("SIMGPU_CUDA_ORDER", value);
		parse_order(c, NULL);
	}
	c->grain = 2U << 20;
	value = getenv("SIMGPU_GRAIN");
	if (value && !strcmp(value, "none")) {
		c->exact = true;
	} else {
		c->grain = size_setting("SIMGPU_GRAIN", c->grain);
		if (c->grain < (4U << 10) || c->grain > (64U << 20) ||
		    (c->grain & (c->grain - 1))) {
			complain("SIMGPU_GRAIN", value);
			c->grain = 2U << 20;
		}
	}
	c->pitch = size_setting("SIMGPU_PITCH", 512);
	if (c->pitch < 16 || c->pitch > (64U << 10) || (c->pitch & (c->pitch - 1))) {
		complain("SIMGPU_PITCH", getenv("SIMGPU_PITCH"));
		c->pitch = 512;
	}
	value = getenv("SIMGPU_SMALL");
	c->small_keep = value && !strcmp(value, "keep");
	value = getenv("SIMGPU_ACCOUNTING");
	c->accounting = value && !strcmp(value, "on");
	value = getenv("SIMGPU_SESSIONS");
	c->sessions = value && !strcmp(value, "on");
	value = getenv("SIMGPU_CHASSIS");
	c->chassis = value && !strcmp(value, "on");
	c->event_card = (unsigned int)size_setting("SIMGPU_EVENT", CARDS_MAX);
	if (c->event_card >= c->cards)
		c->event_card = CARDS_MAX;
	value = getenv("SIMGPU_GRAPHICS");
	c->graphics = !value || strcmp(value, "off") != 0;
	c->context_bytes = size_setting("SIMGPU_CONTEXT", 300ULL << 20);
	c->pool_step = size_setting("SIMGPU_POOL_STEP", 32ULL << 20);
	if (!c->pool_step || c->pool_step > 1ULL << 30) {
		complain("SIMGPU_POOL_STEP", getenv("SIMGPU_POOL_STEP"));
		c->pool_step = 32ULL << 20;
	}
	c->reserved_bytes = size_setting("SIMGPU_RESERVED", 0);
	value = getenv("SIMGPU_TAG");
	snprintf(c->tag, sizeof(c->tag), "%s", value ? value : "");
	value = getenv("SIMGPU_DIR");
	if (value && *value)
		snprintf(c->dir, sizeof(c->dir), "%s", value);
	else
		snprintf(c->dir, sizeof(c->dir), "/dev/shm/simgpu-%u", (unsigned int)getuid());
}

const struct config *config_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, parse);
	__atomic_store_n(&config_ready, &config, __ATOMIC_RELEASE);
	return &config;
}
