/* A device outside the list is not counted and not found by index, UUID, PCI address or serial
 * number in NVML. */
#include "client.h"

#define CARDS 4

static struct card {
	char uuid[96], serial[64], pci[32], pci_short[32];
} card[CARDS];

static void learn(void)
{
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++) {
		nvmlDevice_t device;
		nvmlPciInfo_t pci;

		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(i, &device), NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, card[i].uuid, sizeof(card[i].uuid)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetSerial)(device, card[i].serial, sizeof(card[i].serial)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
		strcpy(card[i].pci, pci.busId);
		strcpy(card[i].pci_short, pci.busIdLegacy);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

static void is_card(nvmlDevice_t device, unsigned want)
{
	char uuid[96];

	CHECK_EQ(ML(nvmlDeviceGetUUID)(device, uuid, sizeof(uuid)), NVML_SUCCESS);
	CHECK_STR(uuid, card[want].uuid);
}

static void found(nvmlReturn_t rc, nvmlDevice_t device, unsigned i, int place)
{
	static const nvmlDevice_t untouched = (nvmlDevice_t)0x5a5a;
	unsigned index = ~0u;

	if (place < 0) {
		CHECK_EQ(rc, NVML_ERROR_NOT_FOUND);
		CHECK_EQ((uintptr_t)device, (uintptr_t)untouched);
		return;
	}
	CHECK_EQ(rc, NVML_SUCCESS);
	is_card(device, i);
	CHECK_EQ(ML(nvmlDeviceGetIndex)(device, &index), NVML_SUCCESS);
	CHECK_EQ((int)index, place);
}

static int child(const char *visible)
{
	unsigned count = 0, count_1 = 0;
	nvmlDevice_t device;

	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount)(&count_1), NVML_SUCCESS);
	CHECK_EQ(count, (unsigned)strlen(visible));
	CHECK_EQ(count_1, count);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(count, &device), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex)(count, &device), NVML_ERROR_INVALID_ARGUMENT);
	for (unsigned place = 0; place < count; place++) {
		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(place, &device), NVML_SUCCESS);
		is_card(device, (unsigned)(visible[place] - '0'));
		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex)(place, &device), NVML_SUCCESS);
		is_card(device, (unsigned)(visible[place] - '0'));
	}
	for (unsigned i = 0; i < CARDS; i++) {
		const char *const at = strchr(visible, (char)('0' + i));
		const int place = at ? (int)(at - visible) : -1;
		nvmlReturn_t rc;

#define FIND(function, key)              \
	device = (nvmlDevice_t)0x5a5a;   \
	rc = ML(function)(key, &device); \
	found(rc, device, i, place)
		FIND(nvmlDeviceGetHandleByUUID, card[i].uuid);
		FIND(nvmlDeviceGetHandleBySerial, card[i].serial);
		FIND(nvmlDeviceGetHandleByPciBusId, card[i].pci);
		FIND(nvmlDeviceGetHandleByPciBusId_v2, card[i].pci);
		FIND(nvmlDeviceGetHandleByPciBusId_v2, card[i].pci_short);
	}
	CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(NULL, &device), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(card[0].uuid, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
	/* The list was settled with an own start of NVML, which must not keep it started. */
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
	return 0;
}

static void expect(const char *setting, const char *visible)
{
	const char *const argv[] = {"/proc/self/exe", visible, NULL};
	char value[512];
	const char *const env[] = {value, NULL};
	struct client c;

	snprintf(value, sizeof(value), "CUQUOTA_VISIBLE_DEVICES=%s", setting);
	c = client_capped(argv, env);
	for (unsigned i = 0; i < CARDS; i++)
		client_say(&c, "%s %s %s %s", card[i].uuid, card[i].serial, card[i].pci,
			   card[i].pci_short);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("with %s", setting);
}

int main(int argc, char **argv)
{
	char list[256];

	setenv("SIMGPU_DEVICES", "24G,16G,8G,4G", 1);
	if (argc > 1) {
		for (unsigned i = 0; i < CARDS; i++)
			CHECK_EQ(scanf("%95s %63s %31s %31s", card[i].uuid, card[i].serial,
				       card[i].pci, card[i].pci_short),
				 4);
		return child(argv[1]);
	}
	learn();
	expect("all", "0123");
	expect("2", "2");
	expect("3,1", "13");
	expect(card[2].uuid, "2");
	snprintf(list, sizeof(list), "%s,%.9s", card[3].uuid, card[0].uuid);
	expect(list, "03");
	expect("0,9", "0");
	expect("none", "");
	return 0;
}
