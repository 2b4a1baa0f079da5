/*
 * Lists of devices as settings carry them: which are visible, and how much of each.
 *
 * Owns the grammar of `GPU-1f2e=8G,1=50%,*=2G` and of `GPU-1f2e,0`, and which entry holds for a
 * device. Knows nothing of the devices that are there.
 */
#ifndef BASE_DEVICES_H
#define BASE_DEVICES_H

#include "base/size.h"
#include "base/uuid.h"

#define DEVICES_MAX 64

enum device_key_kind { KEY_ANY,
		       KEY_INDEX,
		       KEY_UUID };

struct device_key {
	enum device_key_kind kind;
	unsigned index;	       /* KEY_INDEX */
	struct uuid_name name; /* KEY_UUID */
};

struct device_amount {
	struct device_key key;
	struct amount amount;
};

struct device_amounts {
	unsigned count;
	struct device_amount entry[DEVICES_MAX];
};

enum visible_kind { VISIBLE_ALL,
		    VISIBLE_NONE,
		    VISIBLE_LIST };

struct visible_list {
	enum visible_kind kind;
	unsigned count;			    /* VISIBLE_LIST */
	struct device_key key[DEVICES_MAX]; /* KEY_INDEX (NVML's) or KEY_UUID,
					     * in the order written */
};

bool device_key_equal(const struct device_key *a, const struct device_key *b);

/* A single amount, which holds for every device, or a list. 0 or -EINVAL. */
int devices_parse_amounts(struct span text, unsigned accept, struct device_amounts *amounts,
			  struct parse_error *error);
int devices_parse_visible(struct span text, struct visible_list *visible,
			  struct parse_error *error);

bool devices_has(const struct device_amounts *amounts, const struct device_key *key);
/* Adds one entry; -ENOSPC when full. */
int devices_add(struct device_amounts *amounts, const struct device_key *key,
		const struct amount *amount);

/* The entry that holds: a UUID (the longest prefix first) over an index over `*`; NULL without. */
const struct device_amount *devices_find(const struct device_amounts *amounts,
					 const struct uuid *uuid, unsigned index);

#endif
