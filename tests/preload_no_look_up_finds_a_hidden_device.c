/*
 * Every entry point of nvml.h and every cuDevice* of cuda.h (build/gen/lookups.h, made from both
 * headers) is called with everything that names a hidden card: its handle, UUID as text and as
 * bytes, serial number, PCI address in each form, index, minor number. None gives back anything
 * of it, and each that is a hook answers to the byte as it does for a card that there never was.
 * The same sweep beside a tenant who sees all finds the cards by each of those.
 */
#include "cards.h"

enum { AREAS = 6,
       AREA = 1024,
       FILLS = 4,
       NUMBERS = 7 };

static struct card absent = {
	.uuid = "GPU-00000000-0000-4000-8000-000000000001",
	.serial = "0000000000000",
	.name = "none",
	.pci = "00000000:FE:00.0",
	.pci_legacy = "0000:FE:00.0",
	.pci_short = "FE:00.0",
	.bus = 0xfe,
	.minor = 99,
};
static bool hidden[CARDS];

static const struct row {
	const char *name;
	bool nvml, hook;
	const char *args;
	unsigned version;
} rows[] = {
#define HOOK true
#define CALL false
#define PASS false
#define NVML(name, kind, args, version) {#name, true, kind, args, version},
#define CUDA(name, kind, args, version) {#name, false, kind, args, version},
#include "lookups.h"
};

static bool begins(const char *name, const char *const prefix[])
{
	for (; *prefix; prefix++)
		if (!strncmp(name, *prefix, strlen(*prefix)))
			return true;
	return false;
}

/* What starts, stops or changes things looks nothing up. */
static bool is_look_up(const struct row *row)
{
	static const char *const others[] = {
		"nvmlInit", "nvmlShutdown", "nvmlErrorString", "nvmlEventSetFree",
		"nvmlDeviceSet", "nvmlSystemSet", "nvmlDeviceCreate", "nvmlGpuInstanceCreate",
		"nvmlGpuInstanceDestroy", "nvmlComputeInstanceDestroy", NULL};

	return !begins(row->name, others);
}

/* On a device that is shown. */
static bool makes_things(const char *name)
{
	static const char *const calls[] = {"cuDevicePrimary", "cuDeviceRegister", "cuDeviceSet",
					    "cuDeviceUnregister", "cuDeviceGraphMemTrim", NULL};

	return begins(name, calls);
}

/* Hooks that tell figures of the device whose handle they get, not who or where one is. */
static bool tells_figures(const char *name)
{
	static const char *const words[] = {"Memory", "Process", "Accounting", "Field",
					    "Utilization", "Attributes", "Samples", "Instance",
					    "Sessions", "Stats"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* Places of one call: what it was given and what it left there. */
struct call {
	int rc;
	bool wrote;
	_Alignas(8) unsigned char area[AREAS][AREA];
	unsigned char larger[64 << 10]; /* than the areas may be what is put into one */
};

static unsigned char before[AREAS][AREA];
static uintptr_t unit, events, shown_handle;
static int ordinals; /* of the devices that CUDA shows */

struct choice {
	unsigned subjects; /* which of the device arguments are the card; the others are shown */
	unsigned string, binary, number, fill;
};

static void put_struct(unsigned char *area, const struct card *c, const struct choice *choice,
		       const struct row *row)
{
	const unsigned first = choice->fill ? 16 : row->version;

	memcpy(area, &first, sizeof(first));
	if (choice->fill >= 2)
		strcpy((char *)area + (choice->fill == 2 ? 0 : 4), c->uuid);
}

/* CUDA's numbers of the shown ones come first; without hidden ones they are NVML's. */
static uintptr_t device_of(const struct card *c, const struct row *row, bool subject)
{
	if (row->nvml)
		return subject ? c->handle : shown_handle;
	if (!subject)
		return 0;
	if (ordinals == CARDS)
		return (uintptr_t)(c - card);
	return (uintptr_t)ordinals + (c == &absent ? 100 : (uintptr_t)(c - card));
}

static uintptr_t put(char kind, unsigned char *area, const struct card *c,
		     const struct choice *choice, const struct row *row, unsigned *devices)
{
	const char *const strings[] = {c->uuid, c->serial, c->pci, c->pci_legacy, c->pci_short};
	const uintptr_t index = c == &absent ? 0 : (uintptr_t)(c - card);
	const uintptr_t numbers[NUMBERS] = {0,
					    index,
					    c->minor,
					    96, /* room for any text */
					    NVML_TOPOLOGY_SINGLE,
					    NVML_TOPOLOGY_HOSTBRIDGE,
					    NVML_TOPOLOGY_NODE};
	nvmlUUID_t uuid = {.version = row->version};
	nvmlPciInfo_t pci = {.bus = c->bus};

	switch (kind) {
	case 'd':
		return device_of(c, row, choice->subjects & (1U << (*devices)++));
	case 'i':
		return numbers[choice->number];
	case 'x':
		return begins(row->name, (const char *const[]){"nvmlUnit", NULL}) ? unit
		       : begins(row->name, (const char *const[]){"nvmlEvent", "nvmlDevice", NULL})
			       ? events
			       : 0;
	case 's':
		strcpy((char *)area, strings[choice->string]);
		break;
	case 'u':
		uuid.type = choice->binary ? NVML_UUID_TYPE_BINARY : NVML_UUID_TYPE_ASCII;
		if (choice->binary)
			memcpy(uuid.value.bytes, c->bytes, sizeof(c->bytes));
		else
			strcpy(uuid.value.str, c->uuid);
		memcpy(area, &uuid, sizeof(uuid));
		break;
	case 'a':
		/* Else it is what is asked for. */
		if (strchr(row->args, 'd'))
			break;
		strcpy(pci.busId, c->pci);
		strcpy(pci.busIdLegacy, c->pci_legacy);
		memcpy(area, &pci, sizeof(pci));
		break;
	case 'p':
		put_struct(area, c, choice, row);
		break;
	}
	return (uintptr_t)area;
}

static void *symbol[sizeof(rows) / sizeof(*rows)];

/* Leaves in an area what the call changed: unchanged bytes are 0. Mostly that is nothing, which is
 * seen at a glance. */
static bool keep_changes(unsigned char *area, const unsigned char *as_before)
{
	if (!memcmp(area, as_before, AREA)) {
		memset(area, 0, AREA);
		return false;
	}
	for (size_t k = 0; k < AREA; k++)
		if (area[k] == as_before[k])
			area[k] = 0;
	return true;
}

static void make_call(struct call *call, const struct row *row, const struct card *c,
		      const struct choice *choice)
{
	uintptr_t arg[AREAS] = {0};
	unsigned devices = 0;
	int (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

	CHECK_LE(strlen(row->args), (size_t)AREAS);
	memset(call->area, 0, sizeof(call->area));
	for (size_t i = 0; row->args[i]; i++)
		arg[i] = put(row->args[i], call->area[i], c, choice, row, &devices);
	memcpy(before, call->area, sizeof(before));
	if (!symbol[row - rows])
		symbol[row - rows] =
			symbol_of(row->nvml ? "libnvidia-ml.so.1" : "libcuda.so.1", row->name);
	*(void **)&function = symbol[row - rows];
	call->rc = function(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	call->wrote = false;
	for (size_t i = 0; row->args[i]; i++)
		call->wrote |= keep_changes(call->area[i], before[i]);
}

/* A number, or several, where such lie in structures. */
static bool has_words(const struct call *call, const unsigned *words, size_t count)
{
	const unsigned *const area = (const unsigned *)call->area;
	const size_t most = sizeof(call->area) / sizeof(*area) - count;

	for (size_t i = 0; i <= most; i++)
		if (!memcmp(area + i, words, count * sizeof(*words)))
			return true;
	return false;
}

static bool has(const struct call *call, const void *mark, size_t bytes)
{
	return memmem(call->area, sizeof(call->area), mark, bytes);
}

/* What of the card the call gave back; NULL: nothing. */
static const char *trace_of(const struct call *call, const struct card *c)
{
	const unsigned address[] = {0, c->bus, 0}, id = c->bus << 8;

	if (!call->wrote)
		return NULL;
	if (has(call, c->uuid + 4, 36) || has(call, c->bytes, 8))
		return "UUID";
	if (has(call, c->serial, strlen(c->serial)))
		return "serial number";
	if (has(call, c->name, strlen(c->name)))
		return "name";
	if (has(call, c->pci_short, strlen(c->pci_short)) || has_words(call, address, 3) ||
	    has_words(call, &id, 1))
		return "PCI address";
	return c->handle > CARDS && has(call, &c->handle, sizeof(c->handle)) ? "handle" : NULL;
}

static unsigned count_of(const char *args, const char *kinds)
{
	unsigned n = 0;

	for (; *args; args++)
		n += strchr(kinds, *args) != NULL;
	return n;
}

/* One after another all choices that make a difference for such arguments; false: that was all. */
static bool next(struct choice *choice, const char *args)
{
	if (count_of(args, "s") && ++choice->string < 5)
		return true;
	choice->string = 0;
	if (count_of(args, "u") && ++choice->binary < 2)
		return true;
	choice->binary = 0;
	if (count_of(args, "i") && ++choice->number < NUMBERS)
		return true;
	choice->number = 0;
	if (count_of(args, "p") && ++choice->fill < FILLS)
		return true;
	choice->fill = 0;
	return ++choice->subjects < 1U << count_of(args, "d");
}

static void compare(const struct row *row, const struct card *c, const struct choice *choice,
		    const struct call *call)
{
	static struct call of_none;

	make_call(&of_none, row, &absent, choice);
	if (call->rc != of_none.rc || memcmp(call->area, of_none.area, sizeof(call->area)))
		FAIL("%s(%s) with %s returns %d, with no such card %d, or leaves something else",
		     row->name, row->args, c->uuid, call->rc, of_none.rc);
}

/* The number of functions that find a card. */
static unsigned sweep(bool may_find)
{
	static struct call call;
	unsigned finders = 0;

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		const struct row *const row = &rows[r];
		const bool names = count_of(row->args, row->nvml ? "dsuap" : "ds");
		bool finds = false;

		if (!is_look_up(row))
			continue;
		for (unsigned i = 0; i < CARDS; i++) {
			struct choice choice = {0};

			if (!hidden[i])
				continue;
			do {
				const char *found;

				if ((!choice.subjects || may_find) && makes_things(row->name))
					continue;
				make_call(&call, row, &card[i], &choice);
				found = trace_of(&call, &card[i]);
				finds |= found != NULL;
				if (found && !may_find)
					FAIL("%s(%s): %s of hidden card %u", row->name, row->args,
					     found, i);
				if (!may_find && names && row->hook && !tells_figures(row->name) &&
				    (choice.number == 0 || choice.number >= 3))
					compare(row, &card[i], &choice, &call);
			} while (next(&choice, row->args));
		}
		finders += finds;
	}
	return finders;
}

static int child(const char *visible)
{
	const bool all = strlen(visible) == CARDS;
	static const char nobody;
	nvmlUnit_t u = NULL;
	nvmlEventSet_t set = NULL;

	cards_hear();
	cards_forge(visible);
	for (unsigned i = 0; i < CARDS; i++)
		hidden[i] = all ? i % 2 : !is_visible(visible, i);
	CHECK_EQ(ML(nvmlUnitGetHandleByIndex)(0, &u), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceRegisterEvents)(device_at(0), nvmlEventTypeXidCriticalError, set),
		 NVML_SUCCESS);
	unit = (uintptr_t)u;
	events = (uintptr_t)set;
	shown_handle = (uintptr_t)device_at(0);
	absent.handle = (uintptr_t)&nobody;
	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	CHECK_EQ(CU(cuDeviceGetCount)(&ordinals), CUDA_SUCCESS);
	CHECK_EQ(ordinals, (int)strlen(visible));
	printf("%u\n", sweep(all));
	return 0;
}

/* How many functions find a card that is hidden there; where all is seen: one of 1, 3 and 5. */
static int sweep_of(const char *setting, const char *visible)
{
	struct client c = cards_client(setting, visible);
	const char *const line = client_line(&c, DEADLINE_MS);
	int finders = -1;

	CHECK(line && sscanf(line, "%d", &finders) == 1);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	return finders;
}

int main(int argc, char **argv)
{
	cards_setup("3");
	if (argc > 1)
		return child(argv[1]);
	cards_learn();
	CHECK_GE(sweep_of("all", "012345"), 27);
	CHECK_EQ(sweep_of("0,2,5", "025"), 0);
	CHECK_EQ(sweep_of(card[0].uuid, "0"), 0);
	return 0;
}
