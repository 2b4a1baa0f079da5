/*
 * What a child of `cuquota doctor` sees through one door: whose each entry point is, which devices
 * there are, and how much memory they show. It makes no context and allocates nothing.
 */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CUDA "libcuda.so.1"

static const struct {
	const char *name, *base;
} names[] = {
#define NAME(symbol, base) {#symbol, base},
#include "cli/probe/names.def"
	{"cuDeviceGetUuid",
	 "cuDeviceGetUuid"}, /* not ours: for the child's own use, and the last */
};
#define NAMES (sizeof(names) / sizeof(*names) - 1)

static void *handle;				   /* of the driver, where the door has one */
static void *(*find)(const char *name);		   /* the door */
static void *(*taken_dlsym)(void *, const char *); /* dlsym as dlvsym gives it */
static void *resolver;
static int newest;

void look_say(const char *format, ...)
{
	va_list args;

	fputs("= ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* By the note in the object that holds it (driver/copies.c): a name of a file can be anything. */
bool look_is_ours(const void *pointer, const char **path)
{
	const char *base;
	const ElfW(Ehdr) *header;
	Dl_info info;

	if (!pointer || !dladdr(pointer, &info))
		return false;
	*path = info.dli_fname;
	base = info.dli_fbase;
	header = info.dli_fbase;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *const part =
			(const void *)(base + header->e_phoff + (size_t)i * header->e_phentsize);
		const char *at = base + part->p_vaddr;
		const char *const end = at + part->p_memsz;

		if (part->p_type != PT_NOTE)
			continue;
		while (at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *const note = (const void *)at;
			const char *const owner = at + sizeof(*note);

			if (note->n_namesz == 8 && !memcmp(owner, "cuquota", 8))
				return true;
			at = owner + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return false;
}

void *look_open(const char *file)
{
	void *const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!opened)
		look_say("error %s", dlerror());
	return opened;
}

static void *by_handle(const char *name)
{
	return dlsym(handle, name);
}

static void *by_default(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static void *by_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void *by_taken(const char *name)
{
	return taken_dlsym(handle, name);
}

static void *by_resolver(const char *name)
{
	int (*first)(const char *, void **, int, unsigned long long);
	void *found = NULL;

	memcpy(&first, &resolver, sizeof(first));
	for (size_t i = 0; i <= NAMES; i++)
		if (!strcmp(names[i].name, name) && first(names[i].base, &found, newest, 0))
			return NULL;
	return found;
}

static void *by_second_resolver(const char *name)
{
	int (*second)(const char *, void **, int, unsigned long long, int *);
	void *found = NULL;
	int status = 0;

	memcpy(&second, &resolver, sizeof(second));
	for (size_t i = 0; i <= NAMES; i++)
		if (!strcmp(names[i].name, name) &&
		    second(names[i].base, &found, newest, 0, &status))
			return NULL;
	return found;
}

static bool reach_dlsym(int flags)
{
	handle = dlopen(CUDA, RTLD_NOW | flags);
	find = by_handle;
	if (!handle)
		look_say("error %s", dlerror());
	return handle != NULL;
}

static bool reach_handle(void)
{
	return reach_dlsym(RTLD_LOCAL);
}

static bool reach_default(void)
{
	const bool opened = reach_dlsym(RTLD_GLOBAL);

	find = by_default;
	return opened;
}

static bool reach_next(void)
{
	const bool opened = reach_dlsym(RTLD_GLOBAL);

	find = by_next;
	return opened;
}

static bool reach_dlvsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	void *const libc = dlopen("libc.so.6", RTLD_NOW);
	void *found = NULL;

	for (size_t i = 0; libc && !found && i < sizeof(versions) / sizeof(*versions); i++)
		found = dlvsym(libc, "dlsym", versions[i]);
	memcpy(&taken_dlsym, &found, sizeof(found));
	if (!found) {
		look_say("closed this C library keeps dlsym elsewhere");
		return false;
	}
	if (!reach_handle())
		return false;
	find = by_taken;
	return true;
}

static bool reach_resolver(const char *name)
{
	void *version;
	int (*get_version)(int *);

	if (!reach_handle())
		return false;
	resolver = dlsym(handle, name);
	version = dlsym(handle, "cuDriverGetVersion");
	memcpy(&get_version, &version, sizeof(version));
	if (!resolver || !version || get_version(&newest)) {
		look_say("closed this driver has no %s", name);
		return false;
	}
	/* Later versions may have another ABI under the same name. */
	if (newest > 12000)
		newest = 12000;
	return true;
}

static bool reach_first_resolver(void)
{
	find = by_resolver;
	if (!reach_resolver("cuGetProcAddress"))
		return false;
	find = by_resolver;
	return true;
}

static bool reach_second_resolver(void)
{
	if (!reach_resolver("cuGetProcAddress_v2"))
		return false;
	find = by_second_resolver;
	return true;
}

static bool reach_probe(bool linked, bool apart, int flags)
{
	const int fd = probe_file(linked);
	char path[32];
	void *probe, *entry;

	if (fd < 0) {
		look_say("error the probe cannot be written to memory");
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	probe = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | flags)
		      : dlopen(path, RTLD_NOW | flags);
	entry = probe ? dlsym(probe, "cuquota_probe") : NULL;
	memcpy(&find, &entry, sizeof(entry));
	if (!entry)
		look_say("error %s", dlerror());
	return entry != NULL;
}

static bool reach_linked(void)
{
	return reach_probe(true, false, 0);
}

static bool reach_table(void)
{
	return reach_probe(false, false, 0);
}

static bool reach_deep_linked(void)
{
	return reach_probe(true, false, RTLD_DEEPBIND);
}

static bool reach_deep_table(void)
{
	return reach_probe(false, false, RTLD_DEEPBIND);
}

static bool reach_apart_linked(void)
{
	return reach_probe(true, true, 0);
}

static bool reach_apart_table(void)
{
	return reach_probe(false, true, 0);
}

static bool reach_apart_driver(void)
{
	handle = dlmopen(LM_ID_NEWLM, CUDA, RTLD_NOW);
	find = by_handle;
	if (!handle)
		look_say("error %s", dlerror());
	return handle != NULL;
}

static bool (*const reaches[])(void) = {
	reach_linked, reach_handle, reach_default, reach_next,
	reach_dlvsym, reach_first_resolver, reach_second_resolver, reach_table,
	reach_deep_linked, reach_deep_table, reach_apart_driver, reach_apart_linked,
	reach_apart_table};

const struct door doors[] = {
	{"linked", "a library linked with the driver"},
	{"dlsym", "dlsym on the driver's handle"},
	{"default", "dlsym with RTLD_DEFAULT"},
	{"next", "dlsym with RTLD_NEXT"},
	{"dlvsym", "a dlsym that dlvsym found in the C library"},
	{"resolver", "cuGetProcAddress in its first version"},
	{"resolver-v2", "cuGetProcAddress in its second version"},
	{"table", "a table that a library fills by the resolver"},
	{"deepbind-linked", "a library linked with the driver, opened with RTLD_DEEPBIND,"},
	{"deepbind-table", "a library that opens the driver, opened with RTLD_DEEPBIND,"},
	{"namespace", "the driver in a namespace of its own (dlmopen)"},
	{"namespace-linked", "a library linked with the driver, in a namespace of its own,"},
	{"namespace-table", "a library that opens the driver, in a namespace of its own,"},
};
const unsigned door_count = sizeof(doors) / sizeof(*doors);
_Static_assert(sizeof(doors) / sizeof(*doors) == sizeof(reaches) / sizeof(*reaches), "one each");

static void see_devices(void)
{
	int (*init)(unsigned), (*count)(int *), (*get)(int *, int), (*uuid)(unsigned char[16], int),
		(*total)(size_t *, int);
	void *const found[] = {find("cuInit"), find("cuDeviceGetCount"), find("cuDeviceGet"),
			       find("cuDeviceGetUuid"), find("cuDeviceTotalMem_v2")};
	void *const slots[] = {&init, &count, &get, &uuid, &total};
	int devices = 0, rc;

	for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
		if (!found[i]) {
			look_say("error the driver lacks an entry point that every driver has");
			return;
		}
		memcpy(slots[i], &found[i], sizeof(found[i]));
	}
	rc = init(0);
	if (!rc)
		rc = count(&devices);
	look_say("init %d", rc);
	for (int i = 0; !rc && i < devices; i++) {
		struct uuid name = {.mig = 0};
		char text[UUID_TEXT];
		size_t bytes = 0;
		int device;

		if (get(&device, i) || uuid(name.bytes, device) || total(&bytes, device))
			look_say("error device %d does not answer", i);
		else
			look_say("device %s %zu", uuid_format(&name, text), bytes);
	}
}

int look_door(const char *name)
{
	for (unsigned i = 0; i < door_count; i++) {
		if (strcmp(doors[i].name, name) != 0)
			continue;
		if (!reaches[i]())
			return 0;
		for (size_t k = 0; k < NAMES; k++) {
			void *const found = find(names[k].name);
			const char *whose = "";

			if (!found)
				continue; /* this driver has none, or it is refused here */
			look_say("%s %s", look_is_ours(found, &whose) ? "ours" : "theirs",
				 names[k].name);
		}
		see_devices();
		look_say("end");
		return 0;
	}
	return 1;
}
