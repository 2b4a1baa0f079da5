/*
 * See truth.h.
 */
#include "truth.h"
#include "account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *where(const char *dir)
{
	return dir ? dir : config_get()->dir;
}

static void read_device(const struct account_file *file, const unsigned int index,
			struct truth_device *device)
{
	const unsigned char *const u = file->device[index].uuid;
	uint64_t over = 0;
	uint32_t tag;

	snprintf(device->uuid, sizeof(device->uuid),
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
	device->bytes = (uint64_t)file->device[index].units * ACCOUNT_UNIT;
	device->tags = file->tags < TRUTH_TAGS ? file->tags : TRUTH_TAGS;
	for (tag = 0; tag < device->tags; tag++) {
		const struct account_cell *const cell = &file->cell[index][tag];
		const uint32_t value =
			account_value(__atomic_load_n(&cell->word, __ATOMIC_ACQUIRE));
		const uint32_t max = __atomic_load_n(&cell->max, __ATOMIC_ACQUIRE);

		snprintf(device->tag[tag].name, sizeof(device->tag[tag].name), "%s",
			 file->tag[tag]);
		device->tag[tag].held = (uint64_t)value * ACCOUNT_UNIT;
		device->tag[tag].max = (uint64_t)(max > value ? max : value) * ACCOUNT_UNIT;
		device->committed += device->tag[tag].held;
		over += (uint64_t)cell->over * ACCOUNT_UNIT;
	}
	device->resident = device->committed > over ? device->committed - over : 0;
	if (device->resident > device->bytes)
		device->resident = device->bytes;
}

int truth_read(const char *dir, struct truth *truth)
{
	struct account account;
	unsigned int slot, index;
	int rc;

	memset(truth, 0, sizeof(*truth));
	rc = account_open(&account, where(dir), NULL);
	if (rc)
		return rc;
	account_reap(&account, true);
	truth->devices = account.file->devices;
	for (index = 0; index < truth->devices; index++)
		read_device(account.file, index, &truth->device[index]);
	truth->process = calloc(account.file->slots ? account.file->slots : 1,
				sizeof(*truth->process));
	for (slot = 0; truth->process && slot < account.file->slots && slot < ACCOUNT_SLOTS;
	     slot++) {
		const struct account_slot *const from = &account.file->slot[slot];
		struct truth_process *const to = &truth->process[truth->processes];

		if (!__atomic_load_n(&from->state, __ATOMIC_ACQUIRE))
			continue;
		to->pid = from->pid;
		snprintf(to->name, sizeof(to->name), "%s", from->name);
		snprintf(to->tag, sizeof(to->tag), "%s",
			 account.file->tag[from->tag % ACCOUNT_TAGS]);
		for (index = 0; index < truth->devices; index++) {
			const uint32_t held = __atomic_load_n(&from->held[index], __ATOMIC_ACQUIRE);
			const uint32_t max =
				__atomic_load_n(&from->held_max[index], __ATOMIC_ACQUIRE);

			to->held[index] = (uint64_t)held * ACCOUNT_UNIT;
			to->max[index] = (uint64_t)(max > held ? max : held) * ACCOUNT_UNIT;
		}
		truth->processes++;
	}
	account_close(&account);
	return truth->process ? 0 : -ENOMEM;
}

void truth_free(struct truth *truth)
{
	free(truth->process);
	truth->process = NULL;
}

int truth_reset(const char *dir)
{
	struct account account;
	const int rc = account_open(&account, where(dir), NULL);

	if (rc)
		return rc;
	account_reap(&account, true);
	account_reset_max(&account);
	account_close(&account);
	return 0;
}

static int64_t figure(const char *dir, const unsigned int device, const char *tag, const int which)
{
	struct truth *const truth = malloc(sizeof(*truth));
	int64_t value = truth ? truth_read(dir, truth) : -ENOMEM;
	unsigned int i;

	if (!value) {
		const struct truth_device *const d = &truth->device[device % TRUTH_DEVICES];

		if (which == 2)
			value = (int64_t)d->resident;
		for (i = 0; which < 2 && i < d->tags; i++)
			if (!strcmp(d->tag[i].name, tag))
				value = (int64_t)(which ? d->tag[i].max : d->tag[i].held);
		truth_free(truth);
	}
	free(truth);
	return value;
}

int64_t truth_held(const char *dir, const unsigned int device, const char *tag)
{
	return figure(dir, device, tag, 0);
}

int64_t truth_max(const char *dir, const unsigned int device, const char *tag)
{
	return figure(dir, device, tag, 1);
}

int64_t truth_resident(const char *dir, const unsigned int device)
{
	return figure(dir, device, NULL, 2);
}
