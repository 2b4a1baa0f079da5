/*
 * See pids.h. NSpid in /proc/<n>/status names a process in each namespace from that of the mount
 * on, the inmost last.
 */
#include "base/pids.h"
#include "base/parse.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t namespace_of(const char *name)
{
	char path[64];
	struct text text;
	struct stat info;

	text_init(&text, path, sizeof(path));
	text_add(&text, "/proc/%.*s/ns/pid", 16, name);
	return stat(path, &info) ? 0 : info.st_ino;
}

/* The inmost number of a process, 0 where it is not told; in how many namespaces it has one. */
static uint64_t inmost(const char *name, unsigned *namespaces)
{
	char path[64], line[256];
	struct text text;
	uint64_t last = 0;
	FILE *status;

	*namespaces = 0;
	text_init(&text, path, sizeof(path));
	text_add(&text, "/proc/%.*s/status", 16, name);
	status = fopen(path, "re");
	while (status && !*namespaces && fgets(line, sizeof(line), status)) {
		const char *at = line + strlen("NSpid:");

		if (strncmp(line, "NSpid:", strlen("NSpid:")))
			continue;
		for (; *at == '\t' && (at = parse_number(at + 1, 10, &last)); ++*namespaces)
			;
	}
	if (status)
		fclose(status);
	return last;
}

uint64_t pids_namespace(void)
{
	const int kept = errno;
	const uint64_t inode = namespace_of("self");

	errno = kept;
	return inode;
}

/* Is /proc a mount of this very namespace? */
static bool proc_is_ours(void)
{
	unsigned namespaces;

	return inmost("self", &namespaces) && namespaces == 1;
}

int pids_find(int pid, uint64_t pid_namespace)
{
	const int kept = errno;
	const struct dirent *entry;
	unsigned namespaces;
	uint64_t found = 0;
	DIR *processes = NULL;

	if (pid > 0 && pid_namespace && proc_is_ours())
		processes = opendir("/proc");
	while (!found && processes && (entry = readdir(processes)))
		if (char_is_digit(entry->d_name[0]) &&
		    namespace_of(entry->d_name) == pid_namespace &&
		    inmost(entry->d_name, &namespaces) == (unsigned)pid)
			parse_number(entry->d_name, 10, &found);
	if (processes)
		closedir(processes);
	errno = kept;
	return found <= INT_MAX ? (int)found : 0;
}
