/*
 * CUDA_VISIBLE_DEVICES as the driver reads it (sources: README.md): all ordinals or all UUID
 * prefixes, decided by the first entry; ordinals count in CUDA's order, with strtoul's tolerance
 * for what follows the digits; the list ends at the first entry that names nothing; a device named
 * twice makes the whole list empty. A divided card stands for its first instance, and beside an
 * instance CUDA sees nothing else.
 */
#include "visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static unsigned int default_order(const struct config *config, unsigned int card[CARDS_MAX])
{
	const char *const order = getenv("CUDA_DEVICE_ORDER");
	const int pci = order && !strcmp(order, "PCI_BUS_ID");
	unsigned int i;

	for (i = 0; i < config->cards; i++)
		card[i] = pci ? i : config->cuda_order[i];
	return config->cards;
}

static int is_name(const char *text)
{
	return !strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4);
}

static int has_name(const struct card *card, const char *text, const size_t length)
{
	return (strlen(card->uuid_text) == length && !strncasecmp(card->uuid_text, text, length)) ||
	       (strlen(card->other_text) == length && !strncasecmp(card->other_text, text, length));
}

static int by_prefix(const struct config *config, const char *text, const size_t length)
{
	int found = -1;
	unsigned int i;

	if (length <= 4 || !is_name(text))
		return -1;
	for (i = 0; i < config->devices; i++) {
		const struct card *const card = &config->card[i];

		/* The old name of an instance is never cut short. */
		if (strncasecmp(strchr(card->uuid_text, '/') ? card->other_text : card->uuid_text,
				text, length) &&
		    !(card->gpu_instance && has_name(card, text, length)))
			continue;
		if (found >= 0)
			return -1; /* not unique */
		found = (int)i;
	}
	return found;
}

static int by_ordinal(const unsigned int order[], const unsigned int count, const char *text)
{
	char *rest;
	long value;

	value = strtol(text, &rest, 10);
	if (rest == text || value < 0 || value >= (long)count)
		return -1;
	return (int)order[value];
}

static unsigned int device_at(const struct config *config, const unsigned int card)
{
	return config->card[card].instances ? config->card[card].first : card;
}

static unsigned int one_instance(const struct config *config, unsigned int card[CARDS_MAX],
				 const unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!config->card[card[i]].gpu_instance)
			continue;
		card[0] = card[i];
		return 1;
	}
	return count;
}

unsigned int visible_resolve(const struct config *config, unsigned int card[CARDS_MAX])
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	unsigned int order[CARDS_MAX], n = 0, i;
	const unsigned int count = default_order(config, order);
	int named;

	if (!text) {
		for (i = 0; i < count; i++)
			card[i] = device_at(config, order[i]);
		return one_instance(config, card, count);
	}
	named = is_name(text);
	while (*text) {
		const size_t length = strcspn(text, ",");
		size_t trimmed = length;
		int found;

		while (trimmed && text[trimmed - 1] == ' ')
			trimmed--;
		found = named ? by_prefix(config, text, trimmed) : by_ordinal(order, count, text);
		if (found < 0)
			break;
		found = (int)device_at(config, (unsigned int)found);
		for (i = 0; i < n; i++)
			if (card[i] == (unsigned int)found)
				return 0;
		card[n++] = (unsigned int)found;
		text += length + (text[length] == ',');
	}
	return one_instance(config, card, n);
}
