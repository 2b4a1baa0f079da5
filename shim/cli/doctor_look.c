/*
 * What a child of `cuquota doctor` finds of devices: all there are, when the library stands aside,
 * and whether those that are named to it can be found.
 *
 * A hidden device is named as UUID,PCI address,serial number, the last two perhaps empty.
 */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct pci {
	char short_bus_id[16]; /* as its first version had it */
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct memory {
	unsigned long long total, free, used;
};

struct named {
	unsigned version, type;
	char text[41];
};

static struct {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*uuid)(unsigned char[16], int);
	int (*uuid_v2)(unsigned char[16], int);
	int (*pci)(char *, int, int);
	int (*by_pci)(int *, const char *);
	int (*total)(size_t *, int);
} cuda;

static struct {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*old_count)(unsigned *);
	int (*by_index)(unsigned, void **);
	int (*by_old_index)(unsigned, void **);
	int (*by_uuid)(const char *, void **);
	int (*by_uuid_struct)(const struct named *, void **);
	int (*by_serial)(const char *, void **);
	int (*by_pci)(const char *, void **);
	int (*by_old_pci)(const char *, void **);
	int (*uuid)(void *, char *, unsigned);
	int (*serial)(void *, char *, unsigned);
	int (*pci)(void *, struct pci *);
	int (*memory)(void *, struct memory *);
	int (*mig)(void *, unsigned *, unsigned *);
	int (*instances)(void *, unsigned *);
	int (*instance)(void *, unsigned, void **);
} nvml;

struct entry {
	void *slot;
	const char *name;
};

static bool load(const char *file, const struct entry *entries, size_t count, size_t needed)
{
	void *const library = look_open(file);

	for (size_t i = 0; library && i < count; i++) {
		void *const found = dlsym(library, entries[i].name);

		memcpy(entries[i].slot, &found, sizeof(found));
		if (!found && i < needed) {
			look_say("error %s has no %s", file, entries[i].name);
			return false;
		}
	}
	return library != NULL;
}

static bool load_cuda(void)
{
	const struct entry entries[] = {
		{&cuda.init, "cuInit"},
		{&cuda.count, "cuDeviceGetCount"},
		{&cuda.get, "cuDeviceGet"},
		{&cuda.uuid, "cuDeviceGetUuid"},
		{&cuda.total, "cuDeviceTotalMem_v2"},
		{&cuda.pci, "cuDeviceGetPCIBusId"},
		{&cuda.by_pci, "cuDeviceGetByPCIBusId"},
		{&cuda.uuid_v2, "cuDeviceGetUuid_v2"},
	};

	return load("libcuda.so.1", entries, sizeof(entries) / sizeof(*entries), 7);
}

static bool load_nvml(void)
{
	const struct entry entries[] = {
		{&nvml.init, "nvmlInit_v2"},
		{&nvml.count, "nvmlDeviceGetCount_v2"},
		{&nvml.by_index, "nvmlDeviceGetHandleByIndex_v2"},
		{&nvml.uuid, "nvmlDeviceGetUUID"},
		{&nvml.by_uuid, "nvmlDeviceGetHandleByUUID"},
		{&nvml.by_pci, "nvmlDeviceGetHandleByPciBusId_v2"},
		{&nvml.by_serial, "nvmlDeviceGetHandleBySerial"},
		{&nvml.serial, "nvmlDeviceGetSerial"},
		{&nvml.pci, "nvmlDeviceGetPciInfo_v3"},
		{&nvml.memory, "nvmlDeviceGetMemoryInfo"},
		{&nvml.by_uuid_struct, "nvmlDeviceGetHandleByUUIDV"},
		{&nvml.old_count, "nvmlDeviceGetCount"},
		{&nvml.by_old_index, "nvmlDeviceGetHandleByIndex"},
		{&nvml.by_old_pci, "nvmlDeviceGetHandleByPciBusId"},
		{&nvml.mig, "nvmlDeviceGetMigMode"},
		{&nvml.instances, "nvmlDeviceGetMaxMigDeviceCount"},
		{&nvml.instance, "nvmlDeviceGetMigDeviceHandleByIndex"},
	};

	return load("libnvidia-ml.so.1", entries, sizeof(entries) / sizeof(*entries), 10);
}

/* Of a MIG instance the older query names the GPU: then `gpu` is that, else "-". */
static bool name_device(int device, char text[UUID_TEXT], char gpu[UUID_TEXT])
{
	struct uuid name = {.mig = 0}, own = {.mig = 1};

	if (cuda.uuid(name.bytes, device))
		return false;
	uuid_format(&name, text);
	strcpy(gpu, "-");
	if (!cuda.uuid_v2 || cuda.uuid_v2(own.bytes, device) ||
	    !memcmp(own.bytes, name.bytes, sizeof(own.bytes)))
		return true;
	strcpy(gpu, text);
	uuid_format(&own, text);
	return true;
}

/* "cuda UUID PCI BYTES GPU" for each; the number of them, -1: it does not start. */
static int list_cuda(void)
{
	int devices = 0, rc = cuda.init(0);

	if (!rc)
		rc = cuda.count(&devices);
	look_say("init %d", rc);
	for (int i = 0; !rc && i < devices; i++) {
		char text[UUID_TEXT], gpu[UUID_TEXT], pci[32] = "";
		size_t bytes = 0;
		int device;

		if (cuda.get(&device, i) || !name_device(device, text, gpu) ||
		    cuda.total(&bytes, device)) {
			look_say("error device %d does not answer", i);
			continue;
		}
		if (cuda.pci(pci, sizeof(pci), device) || !*pci)
			strcpy(pci, "-");
		look_say("cuda %s %s %zu %s", text, pci, bytes, gpu);
	}
	return rc ? -1 : devices;
}

static bool is_divided(void *device)
{
	unsigned now = 0, pending;

	return nvml.mig && !nvml.mig(device, &now, &pending) && now;
}

/* "instance UUID - - BYTES" for each that a GPU is divided into. */
static void list_instances(void *gpu)
{
	unsigned most = 0;
	void *device;

	if (!nvml.instances || !nvml.instance || nvml.instances(gpu, &most))
		return;
	for (unsigned i = 0; i < most; i++) {
		struct memory memory = {0};
		char uuid[96];

		if (!nvml.instance(gpu, i, &device) && !nvml.uuid(device, uuid, sizeof(uuid)) &&
		    !nvml.memory(device, &memory))
			look_say("instance %s - - %llu", uuid, memory.total);
	}
}

/* "nvml UUID PCI SERIAL BYTES DIVIDED" for each, the last 0 or 1. */
static int list_nvml(void)
{
	unsigned devices = 0;
	int rc = nvml.init();

	if (!rc)
		rc = nvml.count(&devices);
	look_say("start %d", rc);
	for (unsigned i = 0; !rc && i < devices; i++) {
		char uuid[96] = "", serial[64] = "-";
		struct memory memory = {0};
		struct pci pci = {.bus_id = "-"};
		void *device;

		if (nvml.by_index(i, &device) || nvml.uuid(device, uuid, sizeof(uuid)))
			continue; /* one that fell off the bus keeps its index */
		if (nvml.serial(device, serial, sizeof(serial)) || strchr(serial, ' '))
			strcpy(serial, "-");
		if (nvml.pci(device, &pci))
			strcpy(pci.bus_id, "-");
		nvml.memory(device, &memory);
		look_say("nvml %s %s %s %llu %d", uuid, pci.bus_id, *serial ? serial : "-",
			 memory.total, is_divided(device));
		if (is_divided(device))
			list_instances(device);
	}
	return rc ? -1 : (int)devices;
}

int look_real(void)
{
	if (load_cuda())
		list_cuda();
	if (load_nvml())
		list_nvml();
	look_say("end");
	return 0;
}

static void tell(const char *how, bool found, const char *uuid)
{
	look_say("%s %s %s", found ? "found" : "absent", how, uuid);
}

/* Takes one hidden device apart; false: there is none. */
static bool take_apart(char *text, const char **uuid, const char **pci, const char **serial)
{
	if (!text)
		return false;
	*uuid = strsep(&text, ",");
	*pci = text ? strsep(&text, ",") : "";
	*serial = text ? text : "";
	return true;
}

/* As many indices beyond those shown as devices are hidden. */
static bool beyond_cuda(int shown, int hidden)
{
	bool found = false;
	int device;

	for (int i = 0; i < hidden; i++)
		found |= !cuda.get(&device, shown + i);
	return found;
}

int look_cuda(char **hidden)
{
	const char *uuid, *pci, *serial;
	int shown, count = 0, device;

	while (hidden[count])
		count++;
	if (!load_cuda())
		return 0;
	shown = list_cuda();
	if (shown < 0) /* none at all is visible */
		shown = 0;
	tell("cuda.index", beyond_cuda(shown, count), "-");
	for (; take_apart(*hidden, &uuid, &pci, &serial); hidden++)
		if (*pci)
			tell("cuda.pci", !cuda.by_pci(&device, pci), uuid);
	look_say("end");
	return 0;
}

static bool beyond_nvml(int (*get)(unsigned, void **), unsigned shown, int hidden)
{
	bool found = false;
	void *device;

	for (int i = 0; get && i < hidden; i++)
		found |= !get(shown + (unsigned)i, &device);
	return found;
}

static void find_nvml(const char *uuid, const char *pci, const char *serial)
{
	struct named named = {sizeof(named) | 1u << 24, 1, ""};
	void *device;

	snprintf(named.text, sizeof(named.text), "%s", uuid);
	tell("nvml.uuid", !nvml.by_uuid(uuid, &device), uuid);
	if (nvml.by_uuid_struct)
		tell("nvml.uuid", !nvml.by_uuid_struct(&named, &device), uuid);
	if (*pci)
		tell("nvml.pci", !nvml.by_pci(pci, &device), uuid);
	if (*pci && nvml.by_old_pci)
		tell("nvml.pci", !nvml.by_old_pci(pci, &device), uuid);
	if (*serial)
		tell("nvml.serial", !nvml.by_serial(serial, &device), uuid);
}

int look_nvml(char **hidden)
{
	const char *uuid, *pci, *serial;
	unsigned old = 0;
	int shown, count = 0;

	while (hidden[count])
		count++;
	if (!load_nvml())
		return 0;
	shown = list_nvml();
	if (shown < 0) {
		look_say("end");
		return 0;
	}
	if (nvml.old_count && !nvml.old_count(&old))
		look_say("old-count %u", old);
	tell("nvml.index",
	     beyond_nvml(nvml.by_index, (unsigned)shown, count) ||
		     beyond_nvml(nvml.by_old_index, (unsigned)shown, count),
	     "-");
	for (; take_apart(*hidden, &uuid, &pci, &serial); hidden++)
		find_nvml(uuid, pci, serial);
	look_say("end");
	return 0;
}

struct object {
	const char *path;
};

static int ask_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *const found = arg;
	const char *path = NULL;

	if (info->dlpi_phnum && look_is_ours((const void *)info->dlpi_phdr, &path))
		found->path = path;
	return found->path != NULL;
}

/* "loaded PATH"; "front NAME ours|theirs PATH" for the loader's own functions as a program has
 * them. */
static int look_here(void)
{
	const struct {
		const char *name;
		const void *pointer;
	} fronts[] = {{"dlsym", (const void *)dlsym},
		      {"dlvsym", (const void *)dlvsym},
		      {"dlopen", (const void *)dlopen},
		      {"dlmopen", (const void *)dlmopen}};
	struct object object = {NULL};

	dl_iterate_phdr(ask_object, &object);
	if (object.path)
		look_say("loaded %s", object.path);
	for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++) {
		const char *path = "";
		const bool ours = look_is_ours(fronts[i].pointer, &path);

		look_say("front %s %s %s", fronts[i].name, ours ? "ours" : "theirs", path);
	}
	look_say("end");
	return 0;
}

int look(int argc, char **argv)
{
	const char *const what = argc > 0 ? argv[0] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "here"))
		return look_here();
	if (!strcmp(what, "real"))
		return look_real();
	if (!strcmp(what, "cuda"))
		return look_cuda(argv + 1);
	if (!strcmp(what, "nvml"))
		return look_nvml(argv + 1);
	return look_door(what);
}
