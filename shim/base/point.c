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
#elif defined(CUQUOTA_TRACE)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static __thread unsigned long long began;

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

void point_began(void)
{
	began = now();
}

/* Opened for each line: a forked child writes to a file of its own. */
void point_trace(const char *step, unsigned long long slot, unsigned long long value,
		 unsigned long long kept)
{
	const unsigned long long end = now();
	const char *const folder = getenv("CUQUOTA_TRACE");
	const int saved = errno;
	char path[512], line[160];
	int length, file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	length = snprintf(line, sizeof(line), "%llu %llu %s %llu %llu %llu\n", began, end, step,
			  slot, value, kept);
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (file >= 0) {
		if (write(file, line, (size_t)length) != length)
			errno = 0;
		close(file);
	}
	sched_yield(); /* so that others come in between, on few processors too */
	errno = saved;
	began = now();
}
#else
typedef int point_is_empty; /* ISO C wants a declaration */
#endif
