/*
 * Cards that are divided into MIG instances: SIMGPU_MIG, see README.md.
 *
 * An instance is a device of its own in the account, behind all cards; its card has no memory that
 * CUDA could take.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEW_NAMES = 11040 }; /* R470 */

static void make_instance(const struct config *config, struct card *instance,
			  const unsigned int parent, const unsigned int n, const uint64_t bytes)
{
	const struct card *const card = &config->card[parent];
	const unsigned int gib = (unsigned int)((bytes + (1U << 29)) >> 30);
	char own[64], old[64], name[64];
	uint64_t seed;

	*instance = *card;
	instance->bytes = bytes & ~((1ULL << 21) - 1);
	instance->parent = parent;
	instance->gpu_instance = n + 1;
	instance->compute_instance = 0;
	instance->instances = 0;
	memcpy(&seed, card->uuid, sizeof(seed));
	config_name_uuid(instance->uuid, (seed + n) ^ instance->bytes, "MIG-", own);
	snprintf(old, sizeof(old), "MIG-%.40s/%u/0", card->uuid_text, n + 1);
	memcpy(instance->uuid_text, config->version < NEW_NAMES ? old : own, sizeof(own));
	memcpy(instance->other_text, config->version < NEW_NAMES ? own : old, sizeof(own));
	snprintf(name, sizeof(name), "%.30s MIG %uGB", card->name, gib);
	memcpy(instance->name, name, sizeof(name));
}

/* "10G+5G+5G" of one card. */
static const char *divide(struct config *c, const unsigned int parent, const char *text)
{
	struct card *const card = &c->card[parent];
	uint64_t bytes, left = card->bytes;

	if (card->instances)
		return NULL;
	card->first = c->devices;
	for (;;) {
		if (!config_size(text, &text, &bytes) || bytes < (64U << 20) || bytes > left ||
		    c->devices == CARDS_MAX)
			return NULL;
		left -= bytes;
		make_instance(c, &c->card[c->devices++], parent, card->instances, bytes);
		card->instances++;
		if (*text != '+')
			return text;
		text++;
	}
}

static bool divide_all(struct config *c, const char *text)
{
	for (;;) {
		char *rest;
		const unsigned long parent = strtoul(text, &rest, 10);

		if (rest == text || *rest != ':' || parent >= c->cards)
			return false;
		text = divide(c, (unsigned int)parent, rest + 1);
		if (!text || !*text)
			return text != NULL;
		if (*text++ != ',')
			return false;
	}
}

bool config_divide(struct config *c, const char *text)
{
	unsigned int i;

	if (divide_all(c, text))
		return true;
	for (i = 0; i < c->cards; i++)
		c->card[i].instances = 0;
	c->devices = c->cards;
	return false;
}
