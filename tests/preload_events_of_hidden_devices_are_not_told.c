/*
 * A hidden device cannot be named for NVML's events, error records and drain states: by handle,
 * UUID or PCI address it is answered as one that there is not; and an event of it that comes all
 * the same ends the waiting without a word. Those of a shown device are told.
 */
#include "cards.h"

#define NOBODY "GPU-00000000-0000-4000-8000-000000000001"

static void drains(unsigned bus, nvmlReturn_t query, nvmlReturn_t removal)
{
	nvmlPciInfo_t pci = {.bus = bus};
	nvmlEnableState_t state;

	CHECK_EQ(ML(nvmlDeviceQueryDrainState)(&pci, &state), query);
	CHECK_EQ(ML(nvmlDeviceModifyDrainState)(&pci, NVML_FEATURE_ENABLED), query);
	CHECK_EQ(ML(nvmlDeviceDiscoverGpus)(&pci), query);
	CHECK_EQ(ML(nvmlDeviceRemoveGpu)(&pci), removal);
	CHECK_EQ(ML(nvmlDeviceRemoveGpu_v2)(&pci, NVML_DETACH_GPU_KEEP, NVML_PCIE_LINK_KEEP),
		 removal);
}

static void records(const char *uuid, nvmlReturn_t want)
{
	nvmlGetCPER_v1_t cper = {.bufferSize = 0};

	strcpy(cper.cursor.uuid, uuid);
	CHECK_EQ(ML(nvmlSystemGetCPER_v1)(&cper), want);
	CHECK_STR(cper.cursor.uuid, uuid);
}

static void registers(nvmlEventSet_t set, const struct card *c, nvmlReturn_t want)
{
	nvmlGpuOperationalEventConfig_v1_t config = {.minLogLevel = 0};

	strcpy(config.uuid, c->uuid);
	CHECK_EQ(ML(nvmlEventSetRegisterGpuOperationalEvents_v1)(set, &config), want);
	CHECK_EQ(ML(nvmlDeviceRegisterEvents)((nvmlDevice_t)c->handle,
					      nvmlEventTypeXidCriticalError, set),
		 want);
}

static void waits(nvmlEventSet_t set, const struct card *c, bool told)
{
	const nvmlReturn_t want = told ? NVML_SUCCESS : NVML_ERROR_TIMEOUT;
	const nvmlDevice_t device = told ? (nvmlDevice_t)c->handle : NULL;
	nvmlEventData_t one = {.computeInstanceId = 0x5a}, two = {.device = NULL};
	nvmlEventSetWait_v3_t three = {.timeoutMs = 1};

	CHECK_EQ(ML(nvmlEventSetWait)(set, &one, 1), want);
	CHECK_EQ((uintptr_t)one.device, (uintptr_t)device);
	CHECK_EQ(one.computeInstanceId, 0x5au); /* that version ends before */
	CHECK_EQ(ML(nvmlEventSetWait_v2)(set, &two, 1), want);
	CHECK_EQ((uintptr_t)two.device, (uintptr_t)device);
	CHECK_EQ(ML(nvmlEventSetWait_v3)(set, &three), want);
	CHECK_STR(three.uuid, told ? c->uuid : "");
	CHECK_EQ(ML(nvmlEventSetWait)(set, NULL, 1), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlEventSetWait_v2)(set, NULL, 1), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(ML(nvmlEventSetWait_v3)(set, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

/* Every card came. */
static void arrivals(const char *visible)
{
	nvmlSystemEventData_v1_t data[CARDS + 1] = {{.gpuId = 0}};
	nvmlSystemEventSetCreateRequest_t made = {.version = nvmlSystemEventSetCreateRequest_v1};
	nvmlSystemEventSetWaitRequest_t wait = {.version = nvmlSystemEventSetWaitRequest_v1,
						.data = data};
	nvmlSystemRegisterEventRequest_t all = {.version = nvmlSystemRegisterEventRequest_v1,
						.eventTypes = nvmlSystemEventTypeGpuDriverBind};
	const unsigned count = (unsigned)strlen(visible);

	CHECK_EQ(ML(nvmlSystemEventSetCreate)(&made), NVML_SUCCESS);
	all.set = wait.set = made.set;
	CHECK_EQ(ML(nvmlSystemRegisterEvents)(&all), NVML_SUCCESS);
	wait.dataSize = CARDS + 1;
	CHECK_EQ(ML(nvmlSystemEventSetWait)(&wait), NVML_SUCCESS);
	CHECK_EQ(wait.numEvent, count);
	for (unsigned k = 0; k <= CARDS; k++)
		CHECK_EQ(data[k].gpuId, k < count ? card[visible[k] - '0'].bus << 8 : 0);
	/* Room for the first alone, which is hidden. */
	wait.dataSize = 1;
	CHECK_EQ(ML(nvmlSystemEventSetWait)(&wait),
		 is_visible(visible, 0) ? NVML_SUCCESS : NVML_ERROR_TIMEOUT);
	CHECK_EQ(wait.numEvent, is_visible(visible, 0));
	wait.version++;
	CHECK_EQ(ML(nvmlSystemEventSetWait)(&wait), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static int child(const char *visible)
{
	const bool all = strlen(visible) == CARDS;
	const unsigned event = (unsigned)atoi(getenv("SIMGPU_EVENT"));
	nvmlEventSet_t set;

	cards_hear();
	cards_forge(visible);
	CHECK_EQ(ML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	for (unsigned i = 0; i < CARDS; i++) {
		const bool shown = is_visible(visible, i);
		const nvmlReturn_t want = shown ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;

		drains(card[i].bus, want, shown ? NVML_ERROR_IN_USE : NVML_ERROR_INVALID_ARGUMENT);
		records(card[i].uuid, want);
		registers(set, &card[i], want);
	}
	drains(0xfe, NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT);
	records(NOBODY, NVML_ERROR_INVALID_ARGUMENT);
	records("", all ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION);
	waits(set, &card[event], is_visible(visible, event));
	arrivals(visible);
	return 0;
}

static void expect(const char *setting, const char *visible)
{
	struct client c = cards_client(setting, visible);

	if (client_wait(&c, DEADLINE_MS))
		FAIL("with %s", setting);
}

int main(int argc, char **argv)
{
	cards_setup(argc > 1 ? getenv("SIMGPU_EVENT") : "3");
	if (argc > 1)
		return child(argv[1]);
	cards_learn();
	expect("all", "012345");
	expect("1,4,5", "145");
	setenv("SIMGPU_EVENT", "4", 1);
	expect("1,4,5", "145");
	expect(card[4].uuid, "4");
	return 0;
}
