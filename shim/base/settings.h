/*
 * What this process was told: every setting of options.def, parsed once.
 *
 * Promises: settings_get never fails, allocates, takes a lock or waits for a thread that a fork
 * lost; what is returned never changes. A refused value costs one line and sets `refused`; it never
 * means "no limit" by itself: what follows is on_error's affair.
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include "base/devices.h"
#include "base/log.h"

#define SETTINGS_TENANT 128 /* bytes of a tenant's name, its NUL included */
#define SETTINGS_PATH 1024

enum on_error { ON_ERROR_DENY,
		ON_ERROR_ALLOW };

#define SETTINGS_NOTES 6
#define SETTINGS_NOTE 640

struct settings_note {
	enum log_level level;
	/* How much of the text is the variable's name, at its start (0: none), and how much is all
	 * but what follows from it for a program that runs already (0: all). */
	unsigned name, told;
	char text[SETTINGS_NOTE];
};

struct settings {
	struct device_amounts limit;
	struct device_amounts request;
	struct visible_list visible;
	uint64_t request_keep_ns;
	char tenant[SETTINGS_TENANT]; /* "": derive it, see identity.h */
	char dir[SETTINGS_PATH];      /* "": see settings_folder */
	enum on_error on_error;
	enum log_level log_level;
	char log_file[SETTINGS_PATH]; /* "": stderr */
	bool callsites;
	bool disable; /* nothing else was looked at */

	bool refused;	      /* some value was refused */
	bool refused_visible; /* the visible list was */

	/* What settings_get wrote to the log, in order; what did not fit was left out. */
	unsigned notes;
	struct settings_note note[SETTINGS_NOTES];
};

/* The settings of this process, from its environment at the first call. */
const struct settings *settings_get(void);

/* A source of settings: "NAME=value" strings, NULL at the end, and what to call it in messages (""
 * for the environment). Names that are not ours are passed over. */
struct settings_source {
	const char *const *pairs;
	const char *origin;
};

/* Parses without writing anything; used by settings_get, the command and tests. */
void settings_parse(const struct settings_source *source, struct settings *settings);

/* What holds on a device of which `index` is the place among the visible ones in NVML's order. 0
 * and bytes (AMOUNT_UNLIMITED for no limit, 0 for no request), or -EINVAL: what was written cannot
 * hold on this device (less than 1 MiB, a request above the limit); the cause is logged, and
 * on_error decides. */
int settings_limit(const struct settings *settings, const struct uuid *uuid, unsigned index,
		   uint64_t physical_bytes, uint64_t *bytes);
int settings_request(const struct settings *settings, const struct uuid *uuid, unsigned index,
		     uint64_t physical_bytes, uint64_t *bytes);

/* The same for a GPU that is divided into MIG instances, of all that lie on it together: only a key
 * that names the GPU holds, as `*` is for each device by itself. */
int settings_limit_divided(const struct settings *settings, const struct uuid *uuid, unsigned index,
			   uint64_t physical_bytes, uint64_t *bytes);
int settings_request_divided(const struct settings *settings, const struct uuid *uuid,
			     unsigned index, uint64_t physical_bytes, uint64_t *bytes);

/* Does a key of the limits and requests name none of these devices? The first `places` of the
 * `count` are those that indices count. With `say` each such key is one warning. */
bool settings_names_absent(const struct settings *settings, const struct uuid *device,
			   unsigned places, unsigned count, bool say);

/* The folder of the ledgers: as set, else /run/cuquota where it is a folder, else
 * /dev/shm/cuquota. */
const char *settings_folder(const struct settings *settings);

/* Where this release looks when nothing is set, for messages. */
#define SETTINGS_FOLDER "/run/cuquota"
#define SETTINGS_FOLDER_PRIVATE "/dev/shm/cuquota"

#endif
