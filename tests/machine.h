/*
 * A random machine behind a driver of ours, for tests that compile policy/visible*.c in: cards,
 * some of them divided into MIG instances, NVML's sight of them, and CUDA's by simgpu's rule.
 */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include "helper.h"

#include "policy/visible.h"

#include "simgpu/visible.c"

#define MOST 8 /* cards */

struct driver driver_table;
struct nvml_driver nvml_driver_table;
bool driver_ready, nvml_driver_ready;

static struct config machine;
static bool before_r470; /* its driver names instances by their numbers only */

static uint64_t chance_state = 0x9e3779b97f4a7c15ull;

static unsigned chance(unsigned below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (unsigned)(chance_state >> 33) % below;
}

static unsigned shown[CARDS_MAX], shown_count, inits;

static CUresult sim_init(unsigned flags)
{
	inits++;
	shown_count = visible_resolve(&machine, shown);
	return shown_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

static CUresult sim_count(int *count)
{
	*count = (int)shown_count;
	return shown_count ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult sim_get(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult sim_gpu_uuid(CUuuid *uuid, CUdevice device)
{
	const struct card *const card = &machine.card[shown[device]];

	memcpy(uuid->bytes, card->gpu_instance ? machine.card[card->parent].uuid : card->uuid,
	       sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

static CUresult sim_own_uuid(CUuuid *uuid, CUdevice device)
{
	if (before_r470)
		return CUDA_ERROR_NOT_FOUND;
	memcpy(uuid->bytes, machine.card[shown[device]].uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

static nvmlReturn_t sim_nvml_up(void)
{
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_count(unsigned *count)
{
	*count = machine.cards;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_by_index(unsigned index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)&machine.card[index];
	return index < machine.cards ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t sim_nvml_uuid(nvmlDevice_t device, char *uuid, unsigned length)
{
	snprintf(uuid, length, "%s", ((const struct card *)device)->uuid_text);
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_places(nvmlDevice_t device, unsigned *count)
{
	*count = 7;
	return ((const struct card *)device)->instances ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* Every second place is filled. */
static nvmlReturn_t sim_nvml_instance(nvmlDevice_t device, unsigned index, nvmlDevice_t *instance)
{
	const struct card *const card = (const struct card *)device;

	if (index % 2 == 0 || index / 2 >= card->instances)
		return NVML_ERROR_NOT_FOUND;
	*instance = (nvmlDevice_t)&machine.card[card->first + index / 2];
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_gpu_instance(nvmlDevice_t device, unsigned *id)
{
	*id = ((const struct card *)device)->gpu_instance;
	return NVML_SUCCESS;
}

static nvmlReturn_t sim_nvml_compute_instance(nvmlDevice_t device, unsigned *id)
{
	*id = ((const struct card *)device)->compute_instance;
	return NVML_SUCCESS;
}

bool driver_aside(void)
{
	return false;
}

void driver_load(void)
{
	driver_table.cuInit = sim_init;
	driver_table.cuDeviceGetCount = sim_count;
	driver_table.cuDeviceGet = sim_get;
	driver_table.cuDeviceGetUuid = sim_gpu_uuid;
	driver_table.cuDeviceGetUuid_v2 = sim_own_uuid;
	driver_ready = true;
}

void nvml_driver_load(void)
{
	nvml_driver_table.nvmlInit_v2 = sim_nvml_up;
	nvml_driver_table.nvmlShutdown = sim_nvml_up;
	nvml_driver_table.nvmlDeviceGetCount_v2 = sim_nvml_count;
	nvml_driver_table.nvmlDeviceGetHandleByIndex_v2 = sim_nvml_by_index;
	nvml_driver_table.nvmlDeviceGetUUID = sim_nvml_uuid;
	nvml_driver_table.nvmlDeviceGetMaxMigDeviceCount = sim_nvml_places;
	nvml_driver_table.nvmlDeviceGetMigDeviceHandleByIndex = sim_nvml_instance;
	nvml_driver_table.nvmlDeviceGetGpuInstanceId = sim_nvml_gpu_instance;
	nvml_driver_table.nvmlDeviceGetComputeInstanceId = sim_nvml_compute_instance;
	nvml_driver_ready = true;
}

/* Half of the devices begin as an earlier one does, some up to the last half of a byte. */
static void make_uuid(unsigned device, const char *prefix)
{
	struct card *const card = &machine.card[device];
	const unsigned same = device && chance(2) ? 1 + chance(15) : 0;
	struct uuid uuid = {.mig = 0};

	for (unsigned k = 0; k < 16; k++)
		card->uuid[k] = (unsigned char)chance(256);
	if (same)
		memcpy(card->uuid, machine.card[chance(device)].uuid, same);
	card->uuid[15] = (unsigned char)(card->uuid[15] << 4 | device); /* never two alike */
	memcpy(uuid.bytes, card->uuid, sizeof(uuid.bytes));
	uuid_format(&uuid, card->uuid_text);
	memcpy(card->uuid_text, prefix, 4);
}

static void divide(unsigned parent, unsigned instances)
{
	machine.card[parent].first = machine.devices;
	for (unsigned n = 0; n < instances && machine.devices < CARDS_MAX; n++) {
		struct card *const card = &machine.card[machine.devices];
		char gpu[64];

		memcpy(gpu, machine.card[parent].uuid_text, sizeof(gpu));
		*card = (struct card){.parent = parent,
				      .gpu_instance = 2 * n + 1,
				      .compute_instance = chance(2)};
		make_uuid(machine.devices++, "MIG-");
		snprintf(card->other_text, sizeof(card->other_text), "MIG-%.40s/%u/%u",
			 gpu, card->gpu_instance, card->compute_instance);
		if (before_r470) {
			memcpy(card->uuid_text, card->other_text, sizeof(card->uuid_text));
			card->other_text[0] = 0;
		}
		machine.card[parent].instances++;
	}
}

/* On one of two some cards are divided, on one of 16 by a driver before R470. */
static void make_machine(void)
{
	const bool divided = chance(2);

	before_r470 = !chance(8);
	machine.devices = machine.cards = 1 + chance(MOST);
	for (unsigned i = 0; i < machine.cards; i++) {
		machine.card[i] = (struct card){.instances = 0};
		make_uuid(i, "GPU-");
		machine.cuda_order[i] = i;
	}
	for (unsigned i = 0; i < machine.cards && divided; i++)
		if (!chance(3))
			divide(i, 1 + chance(3));
	for (unsigned i = machine.cards; i > 1; i--) {
		const unsigned k = chance(i), swap = machine.cuda_order[k];

		machine.cuda_order[k] = machine.cuda_order[i - 1];
		machine.cuda_order[i - 1] = swap;
	}
}

#endif
