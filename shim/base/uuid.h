/*
 * The names of devices: "GPU-" or "MIG-" and a UUID, whole or as a prefix, in any case.
 *
 * Promise: text in canonical form is lower case, with the prefix in upper case,
 * as nvidia-smi prints it.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/parse.h"

#include <stdint.h>

#define UUID_TEXT 48 /* "GPU-" + 36 + NUL, rounded up; as CUQUOTA_UUID_TEXT */

struct uuid {
	uint8_t bytes[16];
	uint8_t mig; /* 1: the name of a MIG instance */
};

/* A whole name. 0 or -EINVAL. */
int uuid_parse(struct span text, struct uuid *uuid);
/* Returns `text`. */
char *uuid_format(const struct uuid *uuid, char text[UUID_TEXT]);
bool uuid_equal(const struct uuid *a, const struct uuid *b);

#define UUID_NAME 80 /* the longest: "MIG-GPU-<uuid>/<gi>/<ci>" */

/* A device as a setting names it. */
struct uuid_name {
	char text[UUID_NAME]; /* as written, canonical case */
	struct uuid uuid;     /* what of it is known; the rest is 0 */
	uint8_t digits;	      /* hexadecimal digits known; 32: whole */
	bool old_mig;	      /* MIG-GPU-<uuid>/<gi>/<ci> of drivers before 470:
			       * `uuid` is the parent GPU */
	uint16_t gpu_instance;
	uint16_t compute_instance;
};

/* 0 or -EINVAL with *error set. */
int uuid_name_parse(struct span text, struct uuid_name *name, struct parse_error *error);
/* A prefix matches what begins with it. An old MIG name matches no UUID: ask by
 * parent and instances. */
bool uuid_name_matches(const struct uuid_name *name, const struct uuid *uuid);
bool uuid_name_equal(const struct uuid_name *a, const struct uuid_name *b);

#endif
