/*
 * Named points of a debug build; compiled to nothing in a release build. See point.h.
 */
#include "base/point.h"

#ifdef CUQUOTA_POINTS
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POINTS 256

static const char *seen[POINTS];
static unsigned passes;

/* Each name once, told by its address: a literal's is its own. */
static int is_new(const char *name)
{
	for (int i = 0; i < POINTS; i++) {
		const char *none = NULL;

		if (__atomic_load_n(&seen[i], __ATOMIC_RELAXED) == name)
			return 0;
		if (__atomic_compare_exchange_n(&seen[i], &none, name, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
		if (none == name)
			return 0;
	}
	return 0;
}

static void list(const char *path, const char *name)
{
	char line[128];
	size_t length = strnlen(name, sizeof(line) - 1);
	int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memcpy(line, name, length);
	line[length] = '\n';
	if (file < 0)
		return;
	if (write(file, line, length + 1) < 0)
		errno = 0;
	close(file);
}

void point_reach(const char *name)
{
	const char *path = getenv("CUQUOTA_POINT_LIST"), *wanted = getenv("CUQUOTA_POINT");
	size_t length = strlen(name);
	unsigned nth = 1;
	int kept = errno;

	if (path && is_new(name))
		list(path, name);
	if (wanted && !strncmp(wanted, name, length) &&
	    (wanted[length] == ':' || !wanted[length])) {
		const char *rest = wanted + length;
		int signal = SIGKILL;

		if (*rest == ':' && rest[1] >= '0' && rest[1] <= '9') {
			char *end;

			nth = (unsigned)strtoul(rest + 1, &end, 10);
			rest = end;
		}
		if (!strcmp(rest, ":stop"))
			signal = SIGSTOP;
		if (__atomic_add_fetch(&passes, 1, __ATOMIC_RELAXED) == nth)
			kill(getpid(), signal);
	}
	errno = kept;
}
#else
typedef int point_is_empty; /* ISO C wants a declaration */
#endif
