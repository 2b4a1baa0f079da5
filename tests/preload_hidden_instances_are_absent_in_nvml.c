/*
 * Of a GPU that is shown for one of its instances, the others are places that were never filled:
 * not found by index, either name or UUID, nor their parts by number or in a list, and a made-up
 * handle is a wrong one. What is shown leads to its GPU and back. An old driver's names are hidden
 * as well.
 */
#include "instances.h"

#include "context.h"

static const nvmlDevice_t untouched = (nvmlDevice_t)0x5a5a;

static nvmlReturn_t by_bytes(char letter, nvmlDevice_t *device)
{
	nvmlUUID_t uuid = {.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_BINARY};

	instances_bytes(letter, uuid.value.bytes);
	return ML(nvmlDeviceGetHandleByUUIDV)(&uuid, device);
}

static nvmlReturn_t by_text(const char *name, nvmlDevice_t *device)
{
	nvmlUUID_t uuid = {.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_ASCII};

	if (strlen(name) >= sizeof(uuid.value.str))
		return ML(nvmlDeviceGetHandleByUUID)(name, device);
	strcpy(uuid.value.str, name);
	return ML(nvmlDeviceGetHandleByUUIDV)(&uuid, device);
}

static void found(nvmlReturn_t rc, nvmlDevice_t device, char letter, bool shown)
{
	CHECK_EQ(rc, shown ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
	CHECK_EQ((uintptr_t)device, shown ? instances_handle(letter) : (uintptr_t)untouched);
}

/* With a handle that was not given out where it is not shown. */
static void check_handle(nvmlDevice_t device, bool shown)
{
	const nvmlReturn_t want = shown ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
	nvmlDeviceAttributes_t attributes;
	nvmlMemory_t memory;
	nvmlDevice_t gpu;
	unsigned number;
	char text[96];

	CHECK_EQ(ML(nvmlDeviceGetUUID)(device, text, sizeof(text)), want);
	CHECK_EQ(ML(nvmlDeviceGetName)(device, text, sizeof(text)), want);
	CHECK_EQ(ML(nvmlDeviceGetIndex)(device, &number), want);
	CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), want);
	CHECK_EQ(ML(nvmlDeviceGetAttributes_v2)(device, &attributes), want);
	CHECK_EQ(ML(nvmlDeviceIsMigDeviceHandle)(device, &number), want);
	CHECK_EQ(ML(nvmlDeviceGetGpuInstanceId)(device, &number), want);
	CHECK_EQ(ML(nvmlDeviceGetComputeInstanceId)(device, &number), want);
	CHECK_EQ(ML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(device, &gpu), want);
}

static void check_instance(char letter, bool shown, bool has_uuids)
{
	const struct called *const d = called(letter);
	nvmlDevice_t device = untouched;
	nvmlReturn_t rc = ML(nvmlDeviceGetHandleByUUID)(d->name, &device);

	in_context("instance %c", letter);
	found(rc, device, letter, shown);
	device = untouched;
	rc = ML(nvmlDeviceGetHandleByUUID)(d->old, &device);
	found(rc, device, letter, shown);
	device = untouched;
	rc = by_text(d->name, &device);
	found(rc, device, letter, shown);
	device = untouched;
	rc = has_uuids ? by_bytes(letter, &device) : by_text(d->old, &device);
	found(rc, device, letter, shown);
	check_handle((nvmlDevice_t)instances_handle(letter), shown);
}

static void check_no_compute_instance(nvmlGpuInstance_t part)
{
	nvmlComputeInstance_t whole[8], compute = NULL;
	unsigned count = 0;

	CHECK_EQ(ML(nvmlGpuInstanceGetComputeInstances)(part, 0, whole, &count), NVML_SUCCESS);
	CHECK_EQ(count, 0u);
	CHECK_EQ(ML(nvmlGpuInstanceGetComputeInstanceById)(part, 0, &compute),
		 NVML_ERROR_NOT_FOUND);
	CHECK(!compute);
}

/* The parts of the instance, by its number on its card. */
static void check_parts(char letter, nvmlDevice_t card, const char *visible)
{
	const bool shown = strchr(visible, letter);
	nvmlGpuInstance_t part = NULL;
	nvmlComputeInstance_t whole[8], compute = NULL;
	unsigned count = 0;

	CHECK_EQ(ML(nvmlDeviceGetGpuInstanceById)(card, called(letter)->instance, &part),
		 shown ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
	CHECK_EQ(part != NULL, shown);
	if (!shown)
		return;
	CHECK_EQ(ML(nvmlGpuInstanceGetComputeInstances)(part, 0, whole, &count), NVML_SUCCESS);
	CHECK_EQ(count, 1u);
	CHECK_EQ(ML(nvmlGpuInstanceGetComputeInstanceById)(part, 0, &compute), NVML_SUCCESS);
	CHECK(compute == whole[0]);
	CHECK_EQ(ML(nvmlGpuInstanceGetComputeInstanceById)(part, 1, &compute),
		 NVML_ERROR_NOT_FOUND);
	/* The simulated handles lie side by side. */
	if (letter == 'a' && !strchr(visible, 'b'))
		check_no_compute_instance((nvmlGpuInstance_t)((uintptr_t)part + 1));
}

static void check_card(char letter, unsigned place, const char *visible)
{
	const char *const instances = letter == 'A' ? "abc" : letter == 'B' ? "de"
									    : "";
	nvmlGpuInstance_t parts[8];
	nvmlDevice_t card, device;
	unsigned number, count = 0, shown = 0;
	nvmlReturn_t rc;

	in_context("card %c", letter);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(place, &card), NVML_SUCCESS);
	CHECK_EQ((uintptr_t)card, instances_handle(letter));
	CHECK_EQ(ML(nvmlDeviceGetIndex)(card, &number), NVML_SUCCESS);
	CHECK_EQ(number, place);
	/* So it was before any was made. */
	CHECK_EQ(ML(nvmlDeviceGetMaxMigDeviceCount)(card, &number), NVML_SUCCESS);
	CHECK_EQ(number, *instances ? 7u : 0u);
	for (unsigned i = 0; i < 7; i++) {
		const char c = i < strlen(instances) ? instances[i] : 0;
		const bool is_shown = c && strchr(visible, c);

		device = untouched;
		rc = ML(nvmlDeviceGetMigDeviceHandleByIndex)(card, i, &device);
		found(rc, device, c, is_shown);
		if (c)
			check_parts(c, card, visible);
		shown += is_shown;
		if (!is_shown)
			continue;
		CHECK_EQ(ML(nvmlDeviceGetIndex)(device, &number), NVML_SUCCESS);
		CHECK_EQ(number, i);
		CHECK_EQ(ML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(device, &device),
			 NVML_SUCCESS);
		CHECK(device == card);
	}
	rc = ML(nvmlDeviceGetGpuInstances)(card, 0, parts, &count);
	CHECK_EQ(rc, *instances ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(count, shown);
}

/* `visible`: the cards in NVML's order, then the instances. */
static int child(const char *visible)
{
	const unsigned cards = (unsigned)strspn(visible, CARD_LETTERS);
	const bool has_uuids = !getenv("SIMGPU_VERSION");
	unsigned count = 0;

	instances_hear();
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
	CHECK_EQ(count, cards);
	for (const char *at = CARD_LETTERS; *at; at++)
		CHECK_EQ(ML(nvmlDeviceGetHandleByUUID)(called(*at)->name, &(nvmlDevice_t){0}),
			 strchr(visible, *at) ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
	for (unsigned i = 0; i < cards; i++)
		check_card(visible[i], i, visible);
	for (const char *at = INSTANCE_LETTERS; *at && cards; at++)
		check_instance(*at, strchr(visible, *at), has_uuids);
	return 0;
}

static const char *const rows[][2] = {
	{"all", "ABCabcde"},
	{"/b", "Ab"},
	{"/a,2", "ACa"},
	{"/e,/a", "ABae"},
	{"%B", "Bde"},
	{"0,/d", "ABabcd"},
	{"%C", "C"},
	{"/c,/b", "Abc"},
	{"none", ""},
};

/* `names`: the sign before a letter that stands for the name which the driver has. */
static void expect_all(char names)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct client c;
		char setting[32];

		strcpy(setting, rows[i][0]);
		for (char *at = setting; *at; at++)
			if (*at == '/' && islower(at[1]))
				*at = names;
		c = instances_client(setting, rows[i][1]);
		if (client_wait(&c, DEADLINE_MS))
			FAIL("with %s", setting);
	}
}

int main(int argc, char **argv)
{
	instances_setup();
	if (argc > 1)
		return child(argv[1]);
	instances_learn();
	expect_all('%');
	expect_all('/');
	setenv("SIMGPU_VERSION", "11030", 1);
	expect_all('/');
	return 0;
}
