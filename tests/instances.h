/*
 * For tests of MIG: three cards of which two are divided, how their devices are called, and clients
 * under the preload that say which of them CUDA shows.
 */
#ifndef TESTS_INSTANCES_H
#define TESTS_INSTANCES_H

#include "client.h"

#include <ctype.h>

/* The cards are A, B and C; on A lie a, b and c, on B lie d and e. Each other size. */
#define CARD_LETTERS "ABC"
#define INSTANCE_LETTERS "abcde"
#define LETTERS CARD_LETTERS INSTANCE_LETTERS

enum { OF_EACH = 512,
       DEVICES = sizeof(LETTERS) - 1 };

struct called {
	char name[80]; /* as NVML says it */
	char old[80];  /* an instance's: by the numbers that it has on its card */
	char model[64];
	unsigned gib, instance; /* its number on the card */
};

TEST_USED static struct called *called(char letter)
{
	static struct called devices[128];

	return &devices[(unsigned char)letter];
}

TEST_USED static void instances_setup(void)
{
	setenv("SIMGPU_DEVICES", "24G,16G,12G", 1);
	setenv("SIMGPU_MIG", "0:10G+5G+4G,1:7G+3G", 1);
	setenv("SIMGPU_CUDA_ORDER", "pci", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_USED static char card_under(char instance)
{
	return instance < 'd' ? 'A' : 'B';
}

/* Without the preload. */
TEST_USED static void instances_learn(void)
{
	unsigned index = 0;
	nvmlDevice_t card, device;
	nvmlMemory_t memory;

	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	for (const char *at = LETTERS; *at; at++, index++) {
		unsigned instance, compute;
		char gpu[48];

		if (*at == 'a' || *at == 'd')
			index = 0;
		CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(
				 (unsigned)((islower(*at) ? card_under(*at) : *at) - 'A'), &card),
			 NVML_SUCCESS);
		device = card;
		if (islower(*at)) {
			CHECK_EQ(ML(nvmlDeviceGetMigDeviceHandleByIndex)(card, index, &device),
				 NVML_SUCCESS);
			CHECK_EQ(ML(nvmlDeviceGetGpuInstanceId)(device, &instance), NVML_SUCCESS);
			CHECK_EQ(ML(nvmlDeviceGetComputeInstanceId)(device, &compute),
				 NVML_SUCCESS);
			memcpy(gpu, called(card_under(*at))->name, sizeof(gpu));
			snprintf(called(*at)->old, sizeof(called(*at)->old),
				 "MIG-%.40s/%u/%u", gpu, instance, compute);
			called(*at)->instance = instance;
		}
		CHECK_EQ(ML(nvmlDeviceGetUUID)(device, called(*at)->name,
					       sizeof(called(*at)->name)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetName)(device, called(*at)->model,
					       sizeof(called(*at)->model)),
			 NVML_SUCCESS);
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		called(*at)->gib = (unsigned)(memory.total >> 30);
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

/* "NAME=value", where in the value "%a" stands for the name of device a, "/a" for the old one, "~a"
 * for the first 14 characters of its name, "^a" for the old name in capitals. NULL: unset. */
static const char *instances_expand(const char *variable, const char *value, char out[OF_EACH])
{
	size_t n = (size_t)snprintf(out, OF_EACH, "%s=", variable);

	if (!value)
		return variable;
	for (; *value; value++) {
		const char kind = *value;
		const char *text;
		size_t length;

		if (!strchr("%~/^", kind)) {
			out[n++] = kind;
			continue;
		}
		value++;
		text = strchr("/^", kind) ? called(*value)->old
					  : called(*value)->name;
		length = kind == '~' ? 14 : strlen(text);
		for (; length && n < OF_EACH - 1; length--, text++)
			out[n++] = (char)(kind == '^' ? toupper(*text) : *text);
	}
	out[n] = 0;
	return out;
}

/* NVML shows as much of what the caller's list names, where that is the name of one instance;
 * `left`: and as much as free, as a context is current. */
TEST_USED static void instances_check_nvml(size_t total, bool left)
{
	const char *const name = getenv("CUDA_VISIBLE_DEVICES");
	nvmlDevice_t device;
	nvmlMemory_t memory;

	if (getenv("SIMGPU_FAULT")) /* it does not start */
		return;
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	if (name && !strncmp(name, "MIG-", 4) &&
	    ML(nvmlDeviceGetHandleByUUID)(name, &device) == NVML_SUCCESS) {
		CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		CHECK_EQ(memory.total, total);
		/* The dead of clients before may be swept between the two. */
		if (left && memory.free != free_now()) {
			CHECK_EQ(ML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
			CHECK_EQ(memory.free, free_now());
		}
	}
	CHECK_EQ(ML(nvmlShutdown)(), NVML_SUCCESS);
}

/* In a client: "c4" is device c with 4 GiB in all. A driver that has no name for an instance says
 * its card's. */
TEST_USED static int instances_show(void)
{
	int count = 0;
	const CUresult rc = CU(cuInit)(0);

	if (rc != CUDA_SUCCESS) {
		printf("error %d\n", rc);
		return 0;
	}
	CHECK_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
	for (int i = 0; i < count; i++) {
		CUuuid uuid, gpu;
		size_t total = 0;

		CHECK_EQ(CU(cuDeviceGetUuid)(&gpu, i), CUDA_SUCCESS);
		if (CU(cuDeviceGetUuid_v2)(&uuid, i) != CUDA_SUCCESS)
			uuid = gpu;
		CHECK_EQ(CU(cuDeviceTotalMem_v2)(&total, i), CUDA_SUCCESS);
		context_now(i);
		instances_check_nvml(total, true);
		printf("%s%s%02hhx%02hhx%02hhx%02hhx %zu", i ? " " : "",
		       memcmp(&uuid, &gpu, sizeof(uuid)) ? "MIG-" : "GPU-", uuid.bytes[0],
		       uuid.bytes[1], uuid.bytes[2], uuid.bytes[3], total >> 30);
	}
	printf("\n");
	return 0;
}

/* This program anew under the preload; its argument are the letters of what it should see. */
TEST_USED static struct client instances_client(const char *setting, const char *visible)
{
	const char *const argv[] = {"/proc/self/exe", visible, NULL};
	char value[OF_EACH];
	const char *const env[] = {instances_expand("CUQUOTA_VISIBLE_DEVICES", setting, value),
				   "CUQUOTA_LOG=off", NULL};
	struct client c = client_capped(argv, env);

	for (const char *at = LETTERS; *at; at++) {
		const struct called *const d = called(*at);

		client_say(&c, "%s %s %u %s", d->name, *d->old ? d->old : "-", d->instance,
			   d->model);
	}
	return c;
}

/* In that client, before anything else. */
TEST_USED static void instances_hear(void)
{
	for (const char *at = LETTERS; *at; at++) {
		struct called *const d = called(*at);
		const int n = scanf("%79s %79s %u %63[^\n]", d->name, d->old, &d->instance,
				    d->model);

		CHECK_EQ(n, 4);
	}
}

TEST_USED static void instances_bytes(char letter, unsigned char bytes[16])
{
	unsigned n = 0;

	for (const char *at = called(letter)->name + 4; *at; at++)
		if (*at != '-')
			CHECK_EQ(sscanf(at++, "%2hhx", &bytes[n++]), 1);
	CHECK_EQ(n, 16u);
}

/* NVML is started. The simulated handles lie side by side, so that a hidden one's can be made up:
 * cards first. */
TEST_USED static uintptr_t instances_handle(char letter)
{
	char uuid[80];
	nvmlDevice_t first;

	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &first), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetUUID)(first, uuid, sizeof(uuid)), NVML_SUCCESS);
	for (const char *at = CARD_LETTERS; *at; at++)
		if (!strcmp(called(*at)->name, uuid))
			return (uintptr_t)first - (uintptr_t)(at - CARD_LETTERS) +
			       (uintptr_t)(strchr(LETTERS, letter) - LETTERS);
	FAIL("%s is none of the cards", uuid);
}

struct shown_by {
	const char *visible, *callers, *limit; /* NULL: unset; see instances_expand */
	const char *want;		       /* "c4 A12", or "error N" */
};

TEST_USED static void instances_expect(const struct shown_by *row)
{
	char value[3][OF_EACH], line[256] = "";
	const char *const env[] = {
		instances_expand("CUQUOTA_VISIBLE_DEVICES", row->visible, value[0]),
		instances_expand("CUDA_VISIBLE_DEVICES", row->callers, value[1]),
		instances_expand("CUQUOTA_MEMORY_LIMIT", row->limit, value[2]), NULL};
	const char *const argv[] = {"/proc/self/exe", "show", NULL};
	const char *const looking[] = {"/proc/self/exe", "look", row->want + 1, NULL};
	struct client c = client_capped(argv, env);
	const char *got = client_line(&c, DEADLINE_MS);

	for (const char *w = row->want; *w; w++) {
		const size_t n = strlen(line);

		if (isalpha(*w) && strncmp(row->want, "error", 5) != 0)
			snprintf(line + n, sizeof(line) - n, "%.12s ",
				 called(*w)->name);
		else
			snprintf(line + n, sizeof(line) - n, "%c", *w);
	}
	if (!got || strcmp(got, line))
		FAIL("visible %s, caller's %s, limit %s: \"%s\", want %s, \"%s\"", row->visible,
		     row->callers, row->limit, got, row->want, line);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	/* So it does to who only uses NVML. */
	c = client_capped(looking, env);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("visible %s, caller's %s, limit %s", row->visible, row->callers, row->limit);
}

#endif
