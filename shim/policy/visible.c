/*
 * Handing the visible list to the driver; see visible.h.
 *
 * The driver reads CUDA_VISIBLE_DEVICES inside cuInit. Other threads may read and change the
 * environment at the same time, so it is touched by single pointer stores, and what is handed over
 * stays readable for ever.
 */
#include "policy/visible.h"

#include "base/text.h"
#include "base/wiped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "CUDA_VISIBLE_DEVICES="
#define ENTRY ((size_t)DEVICES_MAX * (UUID_TEXT + 1) + sizeof(NAME))

static bool breached; /* the driver shows what it must not */

/* Was that looked at in this process, which fork makes a new one? Published after it. */
static bool *verified(void)
{
	static bool without;
	static void *page;
	bool *const memory = wiped_once(&page, sizeof(*memory));

	return memory ? memory : &without;
}

/* One entry of a list of ordinals, read as strtol does: white space, a sign, digits, and whatever
 * follows them. */
static bool find_ordinal(const struct visible *list, struct span word,
			 struct visible_device *device)
{
	unsigned ordinal = 0;
	bool negative = false;
	size_t i = 0, digits;

	while (i < word.length && char_is_space(word.at[i]))
		i++;
	if (i < word.length && (word.at[i] == '-' || word.at[i] == '+'))
		negative = word.at[i++] == '-';
	for (digits = i; i < word.length && char_is_digit(word.at[i]) && ordinal < DEVICES_MAX; i++)
		ordinal = ordinal * 10 + (unsigned)(word.at[i] - '0');
	if (i == digits || (negative && ordinal) || ordinal >= list->count)
		return false;
	*device = list->device[ordinal];
	return true;
}

/* In capitals, and nothing before it. */
static bool is_named(const char *text)
{
	return !strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4);
}

/* One entry of a list of names: the beginning of one device's. A divided GPU stands for the first
 * of its instances; one of which the list has instances only, for the first of these. */
static bool find_name(const struct visible *list, struct span word, struct visible_device *device)
{
	const struct visible_device *named;
	struct parse_error error;
	struct uuid_name name;
	unsigned found;

	if (!is_named(word.at) || uuid_name_parse(word, &name, &error))
		return false;
	named = visible_match(list, &name, &found);
	if (found != 1)
		return false;
	*device = named->uuid.mig ? *named : *visible_find(list, &named->uuid);
	return true;
}

/*
 * The caller's value resolved inside the list, by the driver's rules: all ordinals or all
 * names, as the first entry is; it ends at the first that names nothing. One that comes
 * twice is the driver's affair.
 */
static void compose(const struct visible *list, const char *value, char entry[ENTRY])
{
	struct span rest = span_of(value ? value : "");
	const bool named = is_named(rest.at);
	const char *separator = "";
	char name[UUID_TEXT];
	struct text text;

	text_init(&text, entry, ENTRY);
	text_add(&text, NAME);
	for (unsigned i = 0; !value && i < list->count; i++, separator = ",")
		text_add(&text, "%s%s", separator, uuid_format(&list->device[i].uuid, name));
	for (unsigned n = 0; value && rest.at && n < DEVICES_MAX; n++, separator = ",") {
		const struct span word = span_split(&rest, ',');
		struct visible_device device;

		if (!(named ? find_name(list, word, &device) : find_ordinal(list, word, &device)))
			break;
		text_add(&text, "%s%s", separator, uuid_format(&device.uuid, name));
	}
}

/* The entry that is in the environment now; what stood there before, NULL if nothing did. */
static char handed[ENTRY];
static char *before;
static char **own; /* the environment in which there was room for one more */
static size_t own_room;

static char **entry_find(const char *name, size_t length)
{
	char **e = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);

	for (; e && *e; e++)
		if (!strncmp(*e, name, length))
			return e;
	return NULL;
}

static int hand_over(void)
{
	char **const entry = entry_find(NAME, sizeof(NAME) - 1);
	char **const old = environ;
	size_t count = 0;

	if (entry) {
		before = *entry;
		__atomic_store_n(entry, handed, __ATOMIC_RELEASE);
		return 0;
	}
	before = NULL;
	while (old && old[count])
		count++;
	if (old != own || !own || count + 2 > own_room) {
		/* Never freed: whoever reads the environment now may read on for ever. */
		char **const more = malloc((count + 16) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		own = memcpy(more, old ? old : more, count * sizeof(*more));
		own_room = count + 16;
	}
	own[count + 1] = NULL;
	__atomic_store_n(&own[count], handed, __ATOMIC_RELEASE);
	__atomic_store_n(&environ, own, __ATOMIC_RELEASE);
	return 0;
}

static void put_back(void)
{
	char **e = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);

	if (!before) {
		/* Under libc's lock, so that a setenv of this moment loses nothing. */
		for (; e && *e; e++)
			if (*e == handed) {
				unsetenv("CUDA_VISIBLE_DEVICES"); /* NOLINT(concurrency-*) */
				return;
			}
		return;
	}
	for (; e && *e; e++) {
		char *ours = handed;

		__atomic_compare_exchange_n(e, &ours, before, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	}
}

static void take_back(void)
{
	put_back();
	/*
	 * A setenv that was under way may have copied the entry into a new array. This one finds
	 * nothing and so changes nothing, but it waits for libc's lock.
	 */
	unsetenv("CUQUOTA NO SUCH NAME"); /* NOLINT(concurrency-mt-unsafe) */
	put_back();
	handed[0] = 0;
}

static bool is_shown(const struct visible *list, CUdevice device)
{
	struct uuid uuid = {.mig = 0};
	CUuuid bytes = {{0}};
	bool has_own;

	/* v1 gives the GPU of an instance, v2 the instance; a driver before R470 has v1 only. */
	has_own = real.cuDeviceGetUuid_v2(&bytes, device) == CUDA_SUCCESS;
	memcpy(uuid.bytes, bytes.bytes, sizeof(uuid.bytes));
	for (; has_own && uuid.mig <= UUID_MIG; uuid.mig++)
		if (visible_exact(list, &uuid))
			return true;
	if (real.cuDeviceGetUuid(&bytes, device) != CUDA_SUCCESS)
		return false;
	memcpy(uuid.bytes, bytes.bytes, sizeof(uuid.bytes));
	uuid.mig = 0;
	return has_own ? visible_exact(list, &uuid) : visible_find(list, &uuid);
}

/* Under the guard: does the driver show what it should? Until it has started
 * there is nothing to say. */
static CUresult verify(const struct visible *list)
{
	int count;

	if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return CUDA_SUCCESS;
	breached = false;
	for (int i = 0; i < count && !breached; i++) {
		CUdevice device;

		if (real.cuDeviceGet(&device, i) == CUDA_SUCCESS && is_shown(list, device))
			continue;
		breached = true;
		log_error("the driver shows device %d, which is not in CUQUOTA_VISIBLE_DEVICES: "
			  "nothing can be had; was the driver started by another way, or the "
			  "environment changed meanwhile?",
			  i);
	}
	__atomic_store_n(verified(), true, __ATOMIC_RELEASE);
	return breached ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* Under the guard. */
static CUresult init_hiding(const struct visible *list, unsigned flags)
{
	char **entry;
	CUresult rc;

	if (handed[0])
		take_back(); /* forked in the middle of another thread's start */
	if (*verified())
		return breached ? CUDA_ERROR_NOT_PERMITTED : real.cuInit(flags);
	entry = entry_find(NAME, sizeof(NAME) - 1);
	compose(list, entry ? *entry + sizeof(NAME) - 1 : NULL, handed);
	if (hand_over()) {
		handed[0] = 0;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	rc = real.cuInit(flags);
	if (rc == CUDA_ERROR_NO_DEVICE && handed[sizeof(NAME) - 1])
		visible_say_absent(list);
	take_back();
	return rc == CUDA_SUCCESS ? verify(list) : rc;
}

/* An instance that lies on a GPU of the list: only NVML knows which these are. */
static bool names_instance(char *const *entry)
{
	return entry && strstr(*entry + sizeof(NAME) - 1, "MIG-");
}

CUresult visible_init(unsigned flags)
{
	const struct visible *list;
	struct visible_hold hold;
	CUresult rc;

	if (visible_is_asking())
		return real.cuInit(flags);
	list = visible_get(false);
	if (list && !list->all && names_instance(entry_find(NAME, sizeof(NAME) - 1)))
		list = visible_get(true);
	if (!list)
		return CUDA_ERROR_NOT_PERMITTED;
	if (list->all)
		return real.cuInit(flags);
	hold = visible_enter();
	rc = init_hiding(list, flags);
	visible_leave(&hold);
	return rc;
}

CUresult visible_check(void)
{
	const struct visible *const list = visible_get(false);
	struct visible_hold hold;
	CUresult rc;

	if (!list)
		return CUDA_ERROR_NOT_PERMITTED;
	if (list->all || visible_is_asking())
		return CUDA_SUCCESS;
	if (__atomic_load_n(verified(), __ATOMIC_ACQUIRE))
		return breached ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
	hold = visible_enter();
	rc = verify(list);
	visible_leave(&hold);
	return rc;
}
