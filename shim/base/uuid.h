/*
 * The names of devices: "GPU-" or "MIG-" and a UUID, whole or as a prefix, in any case; and the
 * names that drivers before R470 gave to MIG instances, "MIG-GPU-<uuid>/<gi>/<ci>".
 *
 * Promise: text in canonical form is lower case, with the prefix in upper case,
 * as nvidia-smi prints it.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/parse.h"

#include <stdint.h>

#define UUID_TEXT 64 /* the longest, "MIG-GPU-" + 36 + "/9999/9999" + NUL, rounded up */

enum { UUID_MIG = 1, /* an instance, by its own UUID */
       UUID_MIG_OLD, /* one by its old name: `bytes` are its GPU's */
};

struct uuid {
	uint8_t bytes[16];
	uint8_t mig; /* 0: a GPU */
	/* Of an instance, where it is known: the numbers that it has on that GPU. */
	bool numbered;
	uint16_t gpu_instance, compute_instance;
	uint8_t gpu[16];
};

/* A whole name. 0 or -EINVAL. */
int uuid_parse(struct span text, struct uuid *uuid);
/* Returns `text`. */
char *uuid_format(const struct uuid *uuid, char text[UUID_TEXT]);
/* The same name; an instance's two names are not. */
bool uuid_equal(const struct uuid *a, const struct uuid *b);
/* Lets an instance be found by its old name too. */
void uuid_number(struct uuid *uuid, const struct uuid *gpu, unsigned gpu_instance,
		 unsigned compute_instance);

#define UUID_NAME 80 /* bytes of a name as written */

/* A device as a setting names it. */
struct uuid_name {
	char text[UUID_NAME]; /* as written, canonical case */
	struct uuid uuid;     /* what of it is known; the rest is 0 */
	uint8_t digits;	      /* hexadecimal digits known; 32: whole */
};

/* 0 or -EINVAL with *error set. */
int uuid_name_parse(struct span text, struct uuid_name *name, struct parse_error *error);
/* A prefix matches what begins with it, an old name the instance of those numbers. */
bool uuid_name_matches(const struct uuid_name *name, const struct uuid *uuid);
bool uuid_name_equal(const struct uuid_name *a, const struct uuid_name *b);

#endif
