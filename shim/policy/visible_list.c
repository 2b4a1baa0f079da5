/*
 * Settling the visible list: names and indices become devices, by NVML where its
 * order matters. See visible.h.
 */
#include "policy/visible.h"

#include "base/wiped.h"

#include <errno.h>
#include <pthread.h>

static struct visible everything; /* set by whoever may ask */
static struct visible lists[2];	  /* [1]: with NVML's indices */
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
	everything.all = true;
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

const struct visible_device *visible_exact(const struct visible *list, const struct uuid *uuid)
{
	for (unsigned i = 0; i < list->count; i++)
		if (uuid_equal(&list->device[i].uuid, uuid))
			return &list->device[i];
	return NULL;
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

	if (visible_exact(list, &device->uuid) || list->count == DEVICES_MAX)
		return;
	for (; at && list->device[at - 1].index > device->index; at--)
		list->device[at] = list->device[at - 1];
	list->device[at] = *device;
	list->count++;
}

/* What of the machine is not in the list, but named through it. */
static void list_add_more(struct visible *list, const struct visible *all)
{
	for (unsigned i = 0; i < all->count + all->more; i++) {
		const struct visible_device *const device = &all->device[i];

		if (!visible_exact(list, &device->uuid) &&
		    (device->uuid.mig ? visible_exact(list, &device->gpu)
				      : visible_find(list, &device->uuid)) &&
		    list->count + list->more < VISIBLE_MAX)
			list->device[list->count + list->more++] = *device;
	}
}

const struct visible_device *visible_match(const struct visible *list, const struct uuid_name *name,
					   unsigned *found)
{
	const struct visible_device *first = NULL;

	*found = 0;
	for (unsigned i = 0; i < list->count + list->more; i++)
		if (uuid_name_matches(name, &list->device[i].uuid) && !(*found)++)
			first = &list->device[i];
	return first;
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

/* Marks in `wished` the place of the device among all. */
static int settle_key(const struct visible *all, const struct visible_list *wish, unsigned at,
		      bool *wished)
{
	const struct device_key *const key = &wish->key[at];
	const struct visible_device *device = NULL;
	unsigned found = 0;

	if (key->kind == KEY_UUID)
		device = visible_match(all, &key->name, &found);
	for (unsigned i = 0; key->kind == KEY_INDEX && i < all->count; i++)
		if (all->device[i].index == key->index)
			device = &all->device[i];
	if (found > 1) {
		log_error("CUQUOTA_VISIBLE_DEVICES: %s is the beginning of %u devices' names; "
			  "write more of it",
			  key->name.text, found);
		return -EINVAL;
	}
	if (device)
		wished[device - all->device] = true;
	else
		say_absent(wish, at);
	return 0;
}

int visible_start_nvml(void)
{
	const nvmlReturn_t up = real_nvml.nvmlInit_v2();

	return (int)(up == NVML_ERROR_FUNCTION_NOT_FOUND ? real_nvml.nvmlInit() : up);
}

/* An instance of a GPU that is wished as a whole is no more than that GPU. */
static void settle_wished(const struct visible *all, const bool *wished, struct visible *list)
{
	for (unsigned i = 0; i < all->count + all->more; i++)
		if (wished[i] && !visible_exact(list, &all->device[i].gpu))
			list_add(list, &all->device[i]);
	list_add_more(list, all);
}

static int settle_by_nvml(const struct visible_list *wish, struct visible *list)
{
	static struct visible all; /* of several KiB; one thread at a time */
	bool wished[VISIBLE_MAX] = {false};
	const int up = visible_start_nvml();
	int rc;

	if (up) {
		log_error("which devices there are cannot be told: NVML does not start (error %d); "
			  "name one GPU by its whole UUID, or make libnvidia-ml.so.1 available",
			  up);
		return -ENODEV;
	}
	rc = visible_ask(&all);
	if (!rc && wish->kind == VISIBLE_ALL)
		*list = all;
	for (unsigned i = 0; !rc && wish->kind == VISIBLE_LIST && i < wish->count; i++)
		rc = settle_key(&all, wish, i, wished);
	if (!rc && wish->kind == VISIBLE_LIST)
		settle_wished(&all, wished, list);
	real_nvml.nvmlShutdown();
	return rc;
}

/* One whole name of a GPU needs no order, and the driver itself says whether it is here. */
static bool needs_nvml(const struct visible_list *wish)
{
	const struct uuid_name *const name = &wish->key[0].name;

	if (wish->kind != VISIBLE_LIST || !wish->count)
		return false;
	return wish->count > 1 || wish->key[0].kind != KEY_UUID || name->uuid.mig ||
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

static bool any_key(bool (*is)(const struct device_key *))
{
	const struct settings *const settings = settings_get();
	const struct device_amounts *const of[] = {&settings->limit, &settings->request};

	for (unsigned n = 0; n < 2; n++)
		for (unsigned i = 0; i < of[n]->count; i++)
			if (is(&of[n]->entry[i].key))
				return true;
	return false;
}

static bool is_place(const struct device_key *key)
{
	return key->kind == KEY_INDEX;
}

static bool is_number(const struct device_key *key)
{
	return key->kind == KEY_UUID && key->name.uuid.mig == UUID_MIG_OLD;
}

static const struct visible_device *find_with_more(const struct visible *list,
						   const struct uuid *uuid)
{
	for (unsigned i = 0; i < list->count + list->more; i++)
		if (uuid_equal(&list->device[i].uuid, uuid))
			return &list->device[i];
	return NULL;
}

int visible_place(const struct uuid *uuid, unsigned *place)
{
	const struct visible *list;
	const struct visible_device *device;

	*place = 0;
	if (!any_key(is_place))
		return 0;
	list = visible_get(true);
	device = list ? find_with_more(list, uuid) : NULL;
	if (!device)
		return -ENODEV;
	*place = (unsigned)(device - list->device);
	if (*place >= list->count)
		*place = VISIBLE_UNKNOWN;
	return 0;
}

int visible_number(struct uuid *uuid)
{
	const struct visible *list;
	const struct visible_device *device;

	if (uuid->mig != UUID_MIG || !any_key(is_number))
		return 0;
	list = visible_get(true);
	device = list ? find_with_more(list, uuid) : NULL;
	if (!device)
		return -ENODEV;
	*uuid = device->uuid;
	return 0;
}
