/*
 * What this process has mapped, as the kernel counts it: all, and the part that is the library's
 * own, which is the memory that fork wipes, the library's file, and the files of the ledger.
 */
#ifndef TESTS_SMAPS_H
#define TESTS_SMAPS_H

#include "helper.h"

#include <stdbool.h>

struct smaps {
	long count;	    /* mappings */
	long anonymous_kib; /* resident and not of a file */
	long own_kib;	    /* resident, the library's own */
};

TEST_USED static struct smaps smaps_read(void)
{
	/* Not from the heap, which is what is measured. */
	static char buffer[1 << 16];
	char line[PATH_MAX + 128];
	struct smaps s = {0};
	long rss = 0, value;
	bool own = false;
	FILE *const file = fopen("/proc/self/smaps", "re");

	CHECK(file);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while (fgets(line, sizeof(line), file)) {
		if (strchr("0123456789abcdef", line[0])) {
			s.count++;
			own = strstr(line, "/libcuquota.so") || strstr(line, ".ledger") ||
			      strstr(line, ".life.");
		} else if (sscanf(line, "Rss: %ld", &value) == 1) {
			rss = value;
		} else if (sscanf(line, "Anonymous: %ld", &value) == 1) {
			s.anonymous_kib += value;
		} else if (!strncmp(line, "VmFlags:", 8) && (own || strstr(line, " wf"))) {
			s.own_kib += rss;
		}
	}
	fclose(file);
	return s;
}

#endif
