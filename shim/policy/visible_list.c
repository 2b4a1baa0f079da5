/*
 * Settling the visible list: names and indices become devices, by NVML where its
 * order matters. See visible.h.
 */
#include "policy/visible.h"

#include "base/wiped.h"

#include <errno.h>
#include <pthread.h>

static const struct visible everything = {.all = true};
static struct visible lists[2]; /* [1]: with NVML's indices */
static bool settled[2];
static int trouble; /* why there is no list: -errno */
static __thread bool asking;

/* One thread at a time, but never one that a fork left behind: fork wipes the word. */
static uint32_t *guard(void)
{
	static uint32_t without;
	static void *page;
	uint32_t *const taken = wiped_once(&page, sizeof(*taken));

	return taken ? taken : &without;
}

struct visible_hold visible_enter(void)
{
	struct visible_hold hold = {.error = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &hold.cancel);
	while (__atomic_exchange_n(guard(), 1, __ATOMIC_ACQUIRE))
		nap_ns(200000);
	asking = true;
	return hold;
}

void visible_leave(const struct visible_hold *hold)
{
	asking = false;
	__atomic_store_n(guard(), 0, __ATOMIC_RELEASE);
	pthread_setcancelstate(hold->cancel, NULL);
	errno = hold->error;
}

bool visible_is_asking(void)
{
	return asking;
}

const struct visible_device *visible_find(const struct visible *list, const struct uuid *uuid)
{
	for (unsigned i = 0; i < list->count; i++)
		if (uuid_equal(&list->device[i].uuid, uuid) ||
		    uuid_equal(&list->device[i].gpu, uuid))
			return &list->device[i];
	return NULL;
}

/* In NVML's order, each once. */
static void list_add(struct visible *list, const struct visible_device *device)
{
	unsigned at = list->count;

	for (unsigned i = 0; i < list->count; i++)
		if (uuid_equal(&list->device[i].uuid, &device->uuid))
			return;
	if (list->count == DEVICES_MAX)
		return;
	for (; at && list->device[at - 1].index > device->index; at--)
		list->device[at] = list->device[at - 1];
	list->device[at] = *device;
	list->count++;
}

static int handle_uuid(nvmlDevice_t handle, struct uuid *uuid)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];

	if (real_nvml.nvmlDeviceGetUUID(handle, text, sizeof(text)) != NVML_SUCCESS)
		return -ENODEV;
	return uuid_parse(span_of(text), uuid);
}

/* All GPUs of the machine, as NVML has them. */
static int ask_all(struct visible *all)
{
	unsigned count = 0;

	*all = (struct visible){.all = true};
	if (real_nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
		return -ENODEV;
	for (unsigned i = 0; i < count && i < DEVICES_MAX; i++) {
		struct visible_device device = {.index = i};
		nvmlDevice_t handle;

		/* One that fell off the bus keeps its index and cannot be had. */
		if (real_nvml.nvmlDeviceGetHandleByIndex_v2(i, &handle) != NVML_SUCCESS ||
		    handle_uuid(handle, &device.uuid))
			continue;
		device.gpu = device.uuid;
		list_add(all, &device);
	}
	return 0;
}

/* A MIG instance by its whole name, and the GPU that it lies on. */
static int ask_instance(const struct visible *all, const struct uuid_name *name,
			struct visible_device *device)
{
	nvmlDevice_t handle, parent;
	const struct visible_device *gpu;

	if (real_nvml.nvmlDeviceGetHandleByUUID(name->text, &handle) != NVML_SUCCESS ||
	    handle_uuid(handle, &device->uuid) ||
	    real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, &parent) !=
		    NVML_SUCCESS ||
	    handle_uuid(parent, &device->gpu))
		return -ENODEV;
	gpu = visible_find(all, &device->gpu);
	if (!gpu)
		return -ENODEV;
	device->index = gpu->index;
	return 0;
}

static bool name_is_instance(const struct uuid_name *name)
{
	return name->uuid.mig || name->old_mig;
}

unsigned visible_match(const struct visible *list, const struct uuid_name *name,
		       struct visible_device *device)
{
	unsigned found = 0;

	for (unsigned i = 0; i < list->count; i++)
		if (uuid_name_matches(name, &list->device[i].uuid) && !found++)
			*device = list->device[i];
	return found;
}

/* Each key once, whoever finds it out. */
static void say_absent(const struct visible_list *wish, unsigned at)
{
	static uint64_t said;
	const struct device_key *const key = &wish->key[at];
	const uint64_t bit = 1ull << at;

	if (__atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit)
		return;
	if (key->kind == KEY_INDEX)
		log_warn("CUQUOTA_VISIBLE_DEVICES names device %u, which is not here", key->index);
	else
		log_warn("CUQUOTA_VISIBLE_DEVICES names %s, which is not here", key->name.text);
}
_Static_assert(DEVICES_MAX <= 64, "a bit for each key");

void visible_say_absent(const struct visible *list)
{
	if (list->count == 1 && list->device[0].index == VISIBLE_UNKNOWN)
		say_absent(&settings_get()->visible, 0);
}

static int settle_key(const struct visible *all, const struct visible_list *wish, unsigned at,
		      struct visible *list)
{
	const struct device_key *const key = &wish->key[at];
	struct visible_device device;
	unsigned found = 0;

	if (key->kind == KEY_INDEX) {
		for (unsigned i = 0; i < all->count; i++)
			if (all->device[i].index == key->index) {
				device = all->device[i];
				found = 1;
			}
	} else {
		found = name_is_instance(&key->name) ? !ask_instance(all, &key->name, &device)
						     : visible_match(all, &key->name, &device);
		if (found > 1) {
			log_error("CUQUOTA_VISIBLE_DEVICES: %s is the beginning of %u devices' "
				  "names; write more of it",
				  key->name.text, found);
			return -EINVAL;
		}
	}
	if (found)
		list_add(list, &device);
	else
		say_absent(wish, at);
	return 0;
}

static int settle_by_nvml(const struct visible_list *wish, struct visible *list)
{
	struct visible all;
	nvmlReturn_t up = real_nvml.nvmlInit_v2();
	int rc;

	if (up == NVML_ERROR_FUNCTION_NOT_FOUND)
		up = real_nvml.nvmlInit();
	if (up != NVML_SUCCESS) {
		log_error("the order of devices cannot be told: NVML does not start (error %d); "
			  "name one device by its whole UUID, or make libnvidia-ml.so.1 available",
			  (int)up);
		return -ENODEV;
	}
	rc = ask_all(&all);
	if (!rc && wish->kind == VISIBLE_ALL)
		*list = all;
	for (unsigned i = 0; !rc && wish->kind == VISIBLE_LIST && i < wish->count; i++)
		rc = settle_key(&all, wish, i, list);
	real_nvml.nvmlShutdown();
	return rc;
}

/* One whole name of a GPU needs no order, and the driver itself says whether it is here. */
static bool needs_nvml(const struct visible_list *wish)
{
	const struct uuid_name *const name = &wish->key[0].name;

	if (wish->kind != VISIBLE_LIST || !wish->count)
		return false;
	return wish->count > 1 || wish->key[0].kind != KEY_UUID || name_is_instance(name) ||
	       name->digits != 32;
}

static int settle(bool indices, struct visible *list)
{
	const struct settings *const settings = settings_get();
	const struct visible_list every = {.kind = VISIBLE_ALL};
	const bool refused = settings->refused_visible;
	const bool aside = settings->disable || driver_aside() ||
			   (refused && settings->on_error == ON_ERROR_ALLOW);
	const struct visible_list *const wish = aside ? &every : &settings->visible;

	*list = (struct visible){.all = wish->kind == VISIBLE_ALL};
	if (refused && !aside)
		return -EINVAL;
	if (needs_nvml(wish) || (indices && wish->kind != VISIBLE_NONE))
		return settle_by_nvml(wish, list);
	if (wish->kind == VISIBLE_LIST)
		list_add(list, &(struct visible_device){wish->key[0].name.uuid,
							wish->key[0].name.uuid, VISIBLE_UNKNOWN});
	return 0;
}

/* Under the guard. */
static const struct visible *list_settled(bool indices)
{
	int rc;

	if (__atomic_load_n(&settled[indices], __ATOMIC_ACQUIRE))
		return &lists[indices];
	rc = settle(indices, &lists[indices]);
	if (!rc) {
		__atomic_store_n(&settled[indices], true, __ATOMIC_RELEASE);
		return &lists[indices];
	}
	if (indices && lists[1].all)
		return NULL; /* only places are unknown */
	__atomic_store_n(&trouble, rc, __ATOMIC_RELAXED);
	if (settings_get()->on_error == ON_ERROR_DENY)
		return NULL;
	log_warn("CUQUOTA_ON_ERROR=allow: all devices are shown");
	lists[indices] = everything;
	__atomic_store_n(&settled[indices], true, __ATOMIC_RELEASE);
	return &lists[indices];
}

const struct visible *visible_get(bool indices)
{
	const struct visible *list;
	struct visible_hold hold;

	if (__atomic_load_n(&settled[indices], __ATOMIC_ACQUIRE))
		return &lists[indices];
	if (asking)
		return &everything;
	if (__atomic_load_n(&trouble, __ATOMIC_RELAXED))
		return NULL;
	hold = visible_enter();
	list = __atomic_load_n(&trouble, __ATOMIC_RELAXED) ? NULL : list_settled(indices);
	visible_leave(&hold);
	return list;
}

bool visible_refused(void)
{
	const struct settings *const settings = settings_get();

	if (settings->disable || settings->on_error == ON_ERROR_ALLOW)
		return false;
	return settings->refused_visible || !visible_get(false);
}

static bool counts_places(const struct device_amounts *amounts)
{
	for (unsigned i = 0; i < amounts->count; i++)
		if (amounts->entry[i].key.kind == KEY_INDEX)
			return true;
	return false;
}

int visible_place(const struct uuid *uuid, unsigned *place)
{
	const struct settings *const settings = settings_get();
	const struct visible *list;
	const struct visible_device *device;

	*place = 0;
	if (!counts_places(&settings->limit) && !counts_places(&settings->request))
		return 0;
	list = visible_get(true);
	device = list ? visible_find(list, uuid) : NULL;
	if (!device)
		return -ENODEV;
	*place = (unsigned)(device - list->device);
	return 0;
}
