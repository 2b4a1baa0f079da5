/*
 * The settings of this process, and what they mean on a device; see settings.h. The only file of
 * this floor that reads `environ`.
 */
#include "base/settings.h"

#include "base/wiped.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM 4		 /* threads that may parse at the same time */
#define PATIENCE_MS 2000 /* for them; only where fork cannot wipe memory can they be lost */

/* Where nothing can be known nothing is allowed. */
static const struct settings unknown = {.refused = true, .refused_visible = true};

static struct settings room[ROOM];
static const struct settings *published;

static const struct settings *load(void)
{
	return __atomic_load_n(&published, __ATOMIC_ACQUIRE);
}

/* By how many room is taken. Fork wipes it: the parent's threads do not parse in the child. */
static uint32_t *parsers(void)
{
	static uint32_t without;
	static void *page;
	uint32_t *const taken = wiped_once(&page, sizeof(*taken));

	return taken ? taken : &without;
}

/* Room to parse in, or NULL once somebody has published or the patience is over. Threads
 * beyond ROOM wait for those that parse; a forked child, whose parent's parsers are not there,
 * begins to count anew. */
static struct settings *take_room(void)
{
	uint32_t *const taken = parsers();
	uint32_t seen = __atomic_load_n(taken, __ATOMIC_RELAXED);

	for (unsigned ms = 0; ms < PATIENCE_MS;) {
		if (seen == ROOM) {
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			ms++;
			if (load())
				return NULL;
			seen = __atomic_load_n(taken, __ATOMIC_RELAXED);
		} else if (__atomic_compare_exchange_n(taken, &seen, seen + 1, false,
						       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			return &room[seen];
		}
	}
	return NULL;
}

/* A log file that cannot be had is found out now, not at the first line that is missed there. */
static void say_log_file(const char *path)
{
	char folder[SETTINGS_PATH];
	char *slash;
	int rc;

	if (!path[0] || !access(path, W_OK))
		return;
	rc = errno;
	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	if (rc == ENOENT && !access(slash ? folder : ".", W_OK | X_OK))
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): constants */
	log_warn("CUQUOTA_LOG_FILE=\"%s\" cannot be written: %s; lines go to stderr until it can",
		 path, strerror(rc));
}

/* All who come first parse for themselves, and one of them is published: nobody holds anything that
 * the others need, so a fork at any instant leaves the child able to do the same. */
static const struct settings *parse_once(void)
{
	const int saved = errno;
	const struct settings_source source = {(const char *const *)environ, ""};
	const struct settings *none = NULL;
	struct settings *mine;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mine = take_room();
	if (mine) {
		settings_parse(&source, mine);
		log_setup(mine->log_level, mine->log_file);
		if (__atomic_compare_exchange_n(&published, &none, mine, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			say_log_file(mine->log_file);
			for (unsigned i = 0; i < mine->notes; i++)
				log_at(mine->note[i].level, "%s", mine->note[i].text);
		}
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return load() ? load() : &unknown;
}

const struct settings *settings_get(void)
{
	const struct settings *const settings = load();

	return __builtin_expect(settings != NULL, 1) ? settings : parse_once();
}

/* `*`, which anything more exact outdoes, is none of a divided GPU. */
static const struct device_amount *find(const struct device_amounts *amounts,
					const struct uuid *uuid, unsigned index, bool divided)
{
	const struct device_amount *const entry = devices_find(amounts, uuid, index);

	return entry && divided && entry->key.kind == KEY_ANY ? NULL : entry;
}

static int limit_of(const struct uuid *uuid, const struct device_amount *entry,
		    uint64_t physical_bytes, uint64_t *bytes)
{
	static bool said; /* figures are asked for again and again */
	char name[UUID_TEXT];

	*bytes = entry ? amount_bytes(&entry->amount, physical_bytes) : AMOUNT_UNLIMITED;
	if (*bytes)
		return 0;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		log_error("the percentage of CUQUOTA_MEMORY_LIMIT is less than 1 MiB on %s; write "
			  "more",
			  uuid_format(uuid, name));
	return -EINVAL;
}

int settings_limit(const struct settings *settings, const struct uuid *uuid, unsigned index,
		   uint64_t physical_bytes, uint64_t *bytes)
{
	return limit_of(uuid, find(&settings->limit, uuid, index, false), physical_bytes, bytes);
}

int settings_limit_divided(const struct settings *settings, const struct uuid *uuid, unsigned index,
			   uint64_t physical_bytes, uint64_t *bytes)
{
	return limit_of(uuid, find(&settings->limit, uuid, index, true), physical_bytes, bytes);
}

static int request_of(const struct uuid *uuid, const struct device_amount *entry,
		      const struct device_amount *limit, uint64_t physical_bytes, uint64_t *bytes)
{
	const uint64_t most = limit ? amount_bytes(&limit->amount, physical_bytes)
				    : AMOUNT_UNLIMITED;
	char name[UUID_TEXT], asked[SIZE_TEXT], allowed[SIZE_TEXT];

	*bytes = 0;
	if (!entry || entry->amount.kind == AMOUNT_NONE)
		return 0;
	/* A limit above the card is what the card has; a promise above it cannot be kept. */
	*bytes = entry->amount.kind == AMOUNT_BYTES ? entry->amount.value
						    : amount_bytes(&entry->amount, physical_bytes);
	if (*bytes > physical_bytes) {
		log_error("CUQUOTA_MEMORY_REQUEST is %s on %s, which has %s; ask for less",
			  size_format(*bytes, asked), uuid_format(uuid, name),
			  size_format(physical_bytes, allowed));
		return -EINVAL;
	}
	if (*bytes <= most)
		return 0;
	log_error("CUQUOTA_MEMORY_REQUEST is %s on %s, above the limit of %s; raise the limit or "
		  "ask for less",
		  size_format(*bytes, asked), uuid_format(uuid, name), size_format(most, allowed));
	return -EINVAL;
}

int settings_request(const struct settings *settings, const struct uuid *uuid, unsigned index,
		     uint64_t physical_bytes, uint64_t *bytes)
{
	return request_of(uuid, find(&settings->request, uuid, index, false),
			  find(&settings->limit, uuid, index, false), physical_bytes, bytes);
}

int settings_request_divided(const struct settings *settings, const struct uuid *uuid,
			     unsigned index, uint64_t physical_bytes, uint64_t *bytes)
{
	return request_of(uuid, find(&settings->request, uuid, index, true),
			  find(&settings->limit, uuid, index, true), physical_bytes, bytes);
}

struct there {
	const struct uuid *device;
	unsigned places, count;
};

static bool is_there(const struct device_key *key, const struct there *there)
{
	if (key->kind == KEY_INDEX)
		return key->index < there->places;
	if (key->kind == KEY_ANY)
		return true;
	for (unsigned i = 0; i < there->count; i++)
		if (uuid_name_matches(&key->name, &there->device[i]))
			return true;
	return false;
}

static bool names_absent(const char *what, const struct device_amounts *amounts,
			 const struct there *there, bool say)
{
	bool absent = false;

	for (unsigned i = 0; i < amounts->count; i++) {
		const struct device_key *const key = &amounts->entry[i].key;

		if (is_there(key, there))
			continue;
		absent = true;
		if (say && key->kind == KEY_INDEX)
			log_warn("%s names device %u, but only %u are visible", what, key->index,
				 there->places);
		else if (say)
			log_warn("%s names %s, which is not among the visible devices", what,
				 key->name.text);
	}
	return absent;
}

bool settings_names_absent(const struct settings *settings, const struct uuid *device,
			   unsigned places, unsigned count, bool say)
{
	const struct there there = {device, places, count};
	const bool limit = names_absent("CUQUOTA_MEMORY_LIMIT", &settings->limit, &there, say);
	const bool request = names_absent("CUQUOTA_MEMORY_REQUEST", &settings->request, &there,
					  say);

	return limit || request;
}

const char *settings_folder(const struct settings *settings)
{
	const int saved = errno;
	struct stat info;
	bool shared;

	if (settings->dir[0])
		return settings->dir;
	shared = !stat(SETTINGS_FOLDER, &info) && S_ISDIR(info.st_mode);
	errno = saved;
	return shared ? SETTINGS_FOLDER : SETTINGS_FOLDER_PRIVATE;
}
