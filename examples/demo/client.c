/*
 * A small CUDA program for the demo: uses one card by the driver API and does what is
 * said on its standard input.
 *
 *   client ORDINAL          says "ready PID DEVICES UUID", or "error CODE WHERE"
 *
 *   alloc MIB               "ok", or "refused CODE"
 *   until MIB MS tries until it gets it: "trying" once it is refused, then "ok",
 *   or "refused CODE" after MS
 *   info                    "info FREE TOTAL" in MiB
 *   total                   "total MIB": what was allocated and not freed
 *   free                    frees the newest block: "ok"
 *   names                   "names PCI": the address of its card
 *   find UUID PCI N         looks for a card by UUID and PCI address, in CUDA and NVML, and by
 *   the index N in both: "found HOW...", or "absent"
 *
 * It opens the driver by name and includes no header of NVIDIA's: nothing of it
 * knows that there is a limit.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096
#define OUT_OF_MEMORY 2

static struct {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*uuid)(unsigned char[16], int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*info)(size_t *, size_t *);
	int (*allocate)(unsigned long long *, size_t);
	int (*release)(unsigned long long);
	int (*pci)(char *, int, int);
	int (*by_pci)(int *, const char *);
} driver;

static struct {
	int (*init)(void);
	int (*by_index)(unsigned, void **);
	int (*by_uuid)(const char *, void **);
	int (*by_pci)(const char *, void **);
} nvml;
static int own; /* the card in use */

static struct {
	unsigned long long pointer;
	size_t bytes;
} block[MOST];
static int blocks;

struct entry {
	const char *name;
	void *slot;
};

static bool load_all(const char *file, const struct entry *entries, size_t count)
{
	void *const library = dlopen(file, RTLD_NOW);

	if (!library)
		return false;
	for (size_t i = 0; i < count; i++) {
		void *const found = dlsym(library, entries[i].name);

		if (!found)
			return false;
		memcpy(entries[i].slot, &found, sizeof(found));
	}
	return true;
}

static bool load(void)
{
	static const struct entry entries[] = {
		{"cuInit", &driver.init},
		{"cuDeviceGetCount", &driver.count},
		{"cuDeviceGet", &driver.get},
		{"cuDeviceGetUuid", &driver.uuid},
		{"cuDevicePrimaryCtxRetain", &driver.retain},
		{"cuCtxSetCurrent", &driver.set_current},
		{"cuMemGetInfo_v2", &driver.info},
		{"cuMemAlloc_v2", &driver.allocate},
		{"cuMemFree_v2", &driver.release},
		{"cuDeviceGetPCIBusId", &driver.pci},
		{"cuDeviceGetByPCIBusId", &driver.by_pci},
	};

	return load_all("libcuda.so.1", entries, sizeof(entries) / sizeof(*entries));
}

static bool load_nvml(void)
{
	static const struct entry entries[] = {
		{"nvmlInit_v2", &nvml.init},
		{"nvmlDeviceGetHandleByIndex_v2", &nvml.by_index},
		{"nvmlDeviceGetHandleByUUID", &nvml.by_uuid},
		{"nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_pci},
	};

	return load_all("libnvidia-ml.so.1", entries, sizeof(entries) / sizeof(*entries));
}

static int allocate(size_t mib)
{
	const size_t bytes = mib << 20;
	int code;

	if (blocks == MOST)
		return OUT_OF_MEMORY;
	code = driver.allocate(&block[blocks].pointer, bytes);
	if (!code)
		block[blocks++].bytes = bytes;
	return code;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(int code)
{
	if (code)
		printf("refused %d\n", code);
	else
		puts("ok");
}

static void try_until(size_t mib, long ms)
{
	const long end = now_ms() + ms;
	bool said = false;
	int code;

	while ((code = allocate(mib)) == OUT_OF_MEMORY && now_ms() < end) {
		if (!said)
			puts("trying");
		said = true;
		usleep(200);
	}
	say(code);
}

static bool cuda_has(const char *uuid)
{
	unsigned char bytes[16];
	int count = 0, device;
	bool found = false;

	driver.count(&count);
	for (int i = 0; i < count; i++) {
		char text[40] = "GPU-";
		int at = 4;

		if (driver.get(&device, i) || driver.uuid(bytes, device))
			continue;
		for (int k = 0; k < 16; k++)
			at += sprintf(text + at, "%s%02x",
				      k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", bytes[k]);
		found |= !strcmp(text, uuid);
	}
	return found;
}

static void look_for(const char *uuid, const char *pci, int index)
{
	bool found[6];
	static const char *const how[] = {"CUDA-index", "CUDA-UUID", "CUDA-PCI",
					  "NVML-index", "NVML-UUID", "NVML-PCI"};
	bool any = false;
	void *handle;
	int device;

	if (!load_nvml() || nvml.init()) {
		puts("error -1 libnvidia-ml.so.1");
		return;
	}
	found[0] = !driver.get(&device, index);
	found[1] = cuda_has(uuid);
	found[2] = !driver.by_pci(&device, pci);
	found[3] = !nvml.by_index((unsigned)index, &handle);
	found[4] = !nvml.by_uuid(uuid, &handle);
	found[5] = !nvml.by_pci(pci, &handle);
	for (int i = 0; i < 6; i++) {
		if (found[i])
			printf("%s%s", any ? " " : "found ", how[i]);
		any |= found[i];
	}
	puts(any ? "" : "absent");
}

static void obey(const char *line)
{
	char uuid[64], pci[64];
	int index;
	size_t mib, free_bytes, total = 0;
	long ms;
	int code;

	if (sscanf(line, "alloc %zu", &mib) == 1) {
		say(allocate(mib));
	} else if (sscanf(line, "until %zu %ld", &mib, &ms) == 2) {
		try_until(mib, ms);
	} else if (sscanf(line, "find %63s %63s %d", uuid, pci, &index) == 3) {
		look_for(uuid, pci, index);
	} else if (!strcmp(line, "names\n")) {
		code = driver.pci(pci, sizeof(pci), own);
		if (code)
			say(code);
		else
			printf("names %s\n", pci);
	} else if (!strcmp(line, "info\n")) {
		code = driver.info(&free_bytes, &total);
		if (code)
			say(code);
		else
			printf("info %zu %zu\n", free_bytes >> 20, total >> 20);
	} else if (!strcmp(line, "total\n")) {
		for (int i = 0; i < blocks; i++)
			total += block[i].bytes;
		printf("total %zu\n", total >> 20);
	} else if (!strcmp(line, "free\n") && blocks) {
		say(driver.release(block[--blocks].pointer));
	} else {
		puts("what?");
	}
}

static int start(int ordinal)
{
	unsigned char uuid[16];
	void *context;
	int code, count = 0, device = 0;
	const char *where = "cuInit";

	code = driver.init(0);
	if (!code)
		code = driver.count((where = "cuDeviceGetCount", &count));
	if (!code)
		code = driver.get((where = "cuDeviceGet", &device), ordinal);
	if (!code)
		code = driver.uuid((where = "cuDeviceGetUuid", uuid), device);
	if (!code)
		code = driver.retain((where = "cuDevicePrimaryCtxRetain", &context), device);
	if (!code)
		code = driver.set_current((where = "cuCtxSetCurrent", context));
	if (code) {
		printf("error %d %s\n", code, where);
		return 1;
	}
	own = device;
	printf("ready %d %d GPU-", (int)getpid(), count);
	for (int i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!load()) {
		puts("error -1 libcuda.so.1");
		return 1;
	}
	if (start(argc > 1 ? atoi(argv[1]) : 0))
		return 1;
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
