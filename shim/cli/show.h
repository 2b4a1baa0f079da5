/*
 * Showing a snapshot: as bars for people, as JSON for machines.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <cuquota/cuquota.h>
#include <stdbool.h>

struct show {
	const char *only; /* the one tenant to be shown, NULL for all */
	int columns;	  /* width of the terminal */
	bool unicode;
};

void show_bars(const struct cuquota_snapshot *snapshot, const struct show *show);
void show_json(const struct cuquota_snapshot *snapshot, const struct show *show);

/* A JSON string on stdout; what is not UTF-8 is replaced. */
void show_string(const char *text);

/* The process id of a member as seen from here: its own where the namespace is ours, else found in
 * /proc by root; 0 where it cannot be told. */
int show_pid(const struct cuquota_member_info *member);

#endif
