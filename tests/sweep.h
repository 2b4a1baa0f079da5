/*
 * For tests that call every look-up with everything that names a hidden device: each entry point of
 * nvml.h and each cuDevice* of cuda.h (build/gen/lookups.h, made from both headers).
 */
#ifndef TESTS_SWEEP_H
#define TESTS_SWEEP_H

#include "client.h"

enum { AREAS = 6,
       AREA = 1024,
       FILLS = 4,
       STRINGS = 5,
       NUMBERS = 7 };

/* Who is looked for. */
struct subject {
	const char *uuid;
	const char *string[STRINGS];  /* what names it, NULL behind the last */
	const char *mark[STRINGS];    /* text that only it has, the same way */
	const char *pci, *pci_legacy; /* "": an instance, which is where its GPU is */
	unsigned bus, index, minor;
	unsigned char bytes[16];
	uintptr_t handle, part; /* made up; that of its GPU instance, 0: it is none */
	uintptr_t shown_handle; /* of a device that is shown, its GPU if that is */
	int ordinal;		/* CUDA's, or one beyond the last */
};

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
static uintptr_t unit, events, shown_part; /* a unit, a set of events, a GPU instance shown */

struct choice {
	unsigned subjects; /* which of the device arguments are the card; the others are shown */
	unsigned string, binary, number, fill;
};

static void put_struct(unsigned char *area, const struct subject *c, const struct choice *choice,
		       const struct row *row)
{
	const unsigned first = choice->fill ? 16 : row->version;

	memcpy(area, &first, sizeof(first));
	if (choice->fill >= 2)
		strcpy((char *)area + (choice->fill == 2 ? 0 : 4), c->uuid);
}

static uintptr_t device_of(const struct subject *c, const struct row *row, bool subject)
{
	if (row->nvml)
		return subject ? c->handle : c->shown_handle;
	return subject ? (uintptr_t)c->ordinal : 0;
}

/* Another handle, by what is done with it. */
static uintptr_t handle_for(const char *function)
{
	if (begins(function, (const char *const[]){"nvmlUnit", NULL}))
		return unit;
	if (begins(function, (const char *const[]){"nvmlGpuInstance", NULL}))
		return shown_part;
	return begins(function, (const char *const[]){"nvmlEvent", "nvmlDevice", NULL}) ? events
											: 0;
}

static uintptr_t put(char kind, unsigned char *area, const struct subject *c,
		     const struct choice *choice, const struct row *row, unsigned *devices)
{
	const uintptr_t numbers[NUMBERS] = {0,
					    c->index,
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
		return handle_for(row->name);
	case 's':
		strcpy((char *)area, c->string[choice->string]);
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

static void prepare(unsigned char area[AREAS][AREA], uintptr_t arg[AREAS], const struct row *row,
		    const struct subject *c, const struct choice *choice)
{
	unsigned devices = 0;

	CHECK_LE(strlen(row->args), (size_t)AREAS);
	memset(area, 0, (size_t)AREAS * AREA);
	for (size_t i = 0; row->args[i]; i++)
		arg[i] = put(row->args[i], area[i], c, choice, row, &devices);
}

static void make_call(struct call *call, const struct row *row, const struct subject *c,
		      const struct choice *choice)
{
	uintptr_t arg[AREAS] = {0};
	int (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

	prepare(call->area, arg, row, c, choice);
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

/* What of it the call gave back; NULL: nothing. */
static const char *trace_of(const struct call *call, const struct subject *c)
{
	const unsigned address[] = {0, c->bus, 0}, id = c->bus << 8;

	if (!call->wrote)
		return NULL;
	if (has(call, c->uuid + 4, 36) || has(call, c->bytes, 8))
		return "UUID";
	for (unsigned i = 0; i < STRINGS && c->mark[i]; i++)
		if (has(call, c->mark[i], strlen(c->mark[i])))
			return c->mark[i];
	if (*c->pci && (has_words(call, address, 3) || has_words(call, &id, 1)))
		return "PCI address";
	if (c->part && has(call, &c->part, sizeof(c->part)))
		return "handle of a part";
	return c->handle > 99 && has(call, &c->handle, sizeof(c->handle)) ? "handle" : NULL;
}

static unsigned count_of(const char *args, const char *kinds)
{
	unsigned n = 0;

	for (; *args; args++)
		n += strchr(kinds, *args) != NULL;
	return n;
}

/* One after another all choices that make a difference for such arguments; false: that was all. */
static bool next(struct choice *choice, const char *args, const struct subject *c)
{
	if (count_of(args, "s") && ++choice->string < STRINGS &&
	    c->string[choice->string])
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

/* Is what both calls left the same, also where one wrote what stood there before it? */
static bool left_the_same(const struct call *a, const struct call *b,
			  unsigned char stood[2][AREAS][AREA])
{
	for (size_t i = 0; i < AREAS; i++)
		for (size_t k = 0; k < AREA; k++) {
			const unsigned char x = a->area[i][k], y = b->area[i][k];

			if (x != y && (x ? x : stood[0][i][k]) != (y ? y : stood[1][i][k]))
				return false;
		}
	return true;
}

static void compare(const struct row *row, const struct subject *c, const struct subject *nobody,
		    const struct choice *choice, const struct call *call)
{
	struct subject absent = *nobody;
	static unsigned char stood[2][AREAS][AREA];
	static struct call of_none;
	uintptr_t arg[AREAS];

	absent.shown_handle = c->shown_handle;
	make_call(&of_none, row, &absent, choice);
	if (call->rc == of_none.rc && !memcmp(call->area, of_none.area, sizeof(call->area)))
		return;
	prepare(stood[0], arg, row, c, choice);
	prepare(stood[1], arg, row, &absent, choice);
	if (call->rc != of_none.rc || !left_the_same(call, &of_none, stood))
		FAIL("%s(%s) with %s returns %d, with no such device %d, or leaves something else",
		     row->name, row->args, c->uuid, call->rc, of_none.rc);
}

/* Does the function find it? `absent`: one that there never was, named in as many ways; a look-up
 * that is a hook must answer to the byte as for that one, and none may find the subject. NULL: it
 * may be found. */
static bool sweep_row(const struct row *row, const struct subject *c, const struct subject *absent)
{
	static struct call call;
	const bool names = count_of(row->args, row->nvml ? "dsuap" : "ds");
	struct choice choice = {0};
	bool finds = false;

	do {
		const char *found;

		if ((!choice.subjects || !absent) && makes_things(row->name))
			continue;
		make_call(&call, row, c, &choice);
		found = trace_of(&call, c);
		finds |= found != NULL;
		if (found && absent)
			FAIL("%s(%s): %s of hidden %s", row->name, row->args, found, c->uuid);
		if (absent && names && row->hook && !tells_figures(row->name) &&
		    (choice.number == 0 || choice.number >= 3))
			compare(row, c, absent, &choice, &call);
	} while (next(&choice, row->args, c));
	return finds;
}

/* The number of functions that find any of them. */
TEST_USED static unsigned sweep(const struct subject *subjects, unsigned count,
				const struct subject *absent)
{
	unsigned finders = 0;

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		bool finds = false;

		for (unsigned i = 0; i < count && is_look_up(&rows[r]); i++)
			finds |= sweep_row(&rows[r], &subjects[i], absent);
		finders += finds;
	}
	return finders;
}

/* NVML is started, `first` is shown: what the look-ups are given beside the subject. */
TEST_USED static void sweep_setup(nvmlDevice_t first)
{
	nvmlUnit_t u = NULL;
	nvmlEventSet_t set = NULL;

	CHECK_EQ(ML(nvmlUnitGetHandleByIndex)(0, &u), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceRegisterEvents)(first, nvmlEventTypeXidCriticalError, set),
		 NVML_SUCCESS);
	unit = (uintptr_t)u;
	events = (uintptr_t)set;
}

#endif
