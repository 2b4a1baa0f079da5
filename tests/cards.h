/*
 * For tests that hide cards: who the simulated cards are, learnt without the preload and told to a
 * client under it, and that client.
 */
#ifndef TESTS_CARDS_H
#define TESTS_CARDS_H

#include "client.h"

enum { CARDS = 6 };

struct card {
	char uuid[48], serial[32], name[64], pci[32], pci_legacy[32], pci_short[32];
	unsigned bus, minor;
	unsigned char bytes[16];
	uintptr_t handle; /* made up: see cards_forge */
};

static struct card card[CARDS];

/* Boards of two, links between all, a unit. The first card has an address that looks like other
 * small numbers. */
TEST_USED static void cards_setup(const char *event_card)
{
	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G,2G,1G", 1);
	setenv("SIMGPU_CHASSIS", "on", 1);
	setenv("SIMGPU_CUDA_ORDER", "pci", 1);
	setenv("SIMGPU_EVENT", event_card, 1);
}

TEST_USED static nvmlDevice_t device_at(unsigned place)
{
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(place, &device), NVML_SUCCESS);
	return device;
}

TEST_USED static void cards_learn(void)
{
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++) {
		const nvmlDevice_t device = device_at(i);
		struct card *const c = &card[i];
		nvmlPciInfo_t pci;

		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, c->uuid, sizeof(c->uuid)), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetSerial)(device, c->serial, sizeof(c->serial)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetName)(device, c->name, sizeof(c->name)), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMinorNumber)(device, &c->minor), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
		c->bus = pci.bus;
		strcpy(c->pci, pci.busId);
		strcpy(c->pci_legacy, pci.busIdLegacy);
	}
}

/* This program anew under the preload; its argument are the indices that it should see. */
TEST_USED static struct client cards_client(const char *setting, const char *visible)
{
	const char *const argv[] = {"/proc/self/exe", visible, NULL};
	char value[512];
	const char *const env[] = {value, "CUQUOTA_LOG=off", NULL};
	struct client c;

	snprintf(value, sizeof(value), "CUQUOTA_VISIBLE_DEVICES=%s", setting);
	c = client_capped(argv, env);
	for (unsigned i = 0; i < CARDS; i++)
		client_say(&c, "%s %s %s %s %u %u %s", card[i].uuid, card[i].serial, card[i].pci,
			   card[i].pci_legacy, card[i].bus, card[i].minor, card[i].name);
	return c;
}

/* In that client, before anything else. */
TEST_USED static void cards_hear(void)
{
	for (unsigned i = 0; i < CARDS; i++) {
		struct card *const c = &card[i];
		unsigned n = 0;

		CHECK_EQ(scanf("%47s %31s %31s %31s %u %u %63[^\n]", c->uuid, c->serial, c->pci,
			       c->pci_legacy, &c->bus, &c->minor, c->name),
			 7);
		strcpy(c->pci_short, c->pci_legacy + 5);
		for (const char *at = c->uuid + 4; *at; at++)
			if (*at != '-')
				CHECK_EQ(sscanf(at++, "%2hhx", &c->bytes[n++]), 1);
		CHECK_EQ(n, (unsigned)sizeof(c->bytes));
	}
}

/* Starts NVML. The simulated handles lie side by side, so that a hidden card's can be made up. */
TEST_USED static void cards_forge(const char *visible)
{
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++)
		card[i].handle = (uintptr_t)device_at(0) + i - (unsigned)(visible[0] - '0');
}

TEST_USED static bool is_visible(const char *visible, unsigned i)
{
	return strchr(visible, (char)('0' + i)) != NULL;
}

#endif
