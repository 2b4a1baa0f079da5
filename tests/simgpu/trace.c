/*
 * See trace.h. The trace is opened, written and closed for each line: it survives closefrom() and
 * is whole when a process is killed.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool probe_on;

static const char *faults, *delays;
static char trace_path[256];

__attribute__((constructor)) static void probe_setup(void)
{
	const char *const fault = getenv("SIMGPU_FAULT"), *const slow = getenv("SIMGPU_DELAY");
	const char *const trace = getenv("SIMGPU_TRACE");

	/* Copies: the program may change its environment. */
	if (fault && *fault)
		faults = strdup(fault);
	if (slow && *slow)
		delays = strdup(slow);
	if (trace && *trace)
		snprintf(trace_path, sizeof(trace_path), "%s", trace);
	probe_on = faults || delays || trace_path[0];
}

/* The next item "name<mark>..." of a comma separated list, at or after `list`. */
static const char *find_item(const char *list, const char *name, const char mark)
{
	const size_t length = strlen(name);

	while (list && *list) {
		if ((!strncmp(list, name, length) && list[length] == mark) ||
		    (list[0] == '*' && list[1] == mark))
			return list;
		list = strchr(list, ',');
		list += list ? 1 : 0;
	}
	return NULL;
}

static uint64_t in_ns(const double value, const char *unit)
{
	if (!strncmp(unit, "us", 2))
		return (uint64_t)(value * 1e3);
	if (!strncmp(unit, "ms", 2))
		return (uint64_t)(value * 1e6);
	if (*unit == 's')
		return (uint64_t)(value * 1e9);
	return (uint64_t)value;
}

/* "name:5ms", or "name:0-5ms": each call another while out of this range. */
static struct probe_delay parse_delay(const char *item, const char mark)
{
	char *rest;
	const double least = strtod(strchr(item, mark) + 1, &rest);
	const double most = *rest == '-' ? strtod(rest + 1, &rest) : least;

	return (struct probe_delay){in_ns(least, rest), in_ns(most, rest)};
}

static void delay(const struct probe_delay *range, const uint32_t call)
{
	const uint64_t spread =
		range->most_ns > range->least_ns ? range->most_ns - range->least_ns : 1;
	const uint64_t draw = ((uint64_t)getpid() << 32 | call) * 0x9e3779b97f4a7c15 >> 20;
	const uint64_t ns = range->least_ns + draw % spread;
	struct timespec wait = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	while (range->most_ns && nanosleep(&wait, &wait) && errno == EINTR)
		;
}

/* "name@3:999", "name@2-5:2", "name@4+:2", "name@*:2" */
static bool is_hit(const char *item, const uint32_t call, int *rc)
{
	const char *at = strchr(item, '@') + 1;
	char *rest;
	unsigned long first, last;

	if (*at == '*') {
		first = 1;
		last = ~0UL;
		rest = (char *)(uintptr_t)at + 1;
	} else {
		first = last = strtoul(at, &rest, 10);
		if (*rest == '-')
			last = strtoul(rest + 1, &rest, 10);
		else if (*rest == '+')
			last = ~0UL, rest++;
	}
	if (*rest != ':' || call < first || call > last)
		return false;
	*rc = (int)strtol(rest + 1, NULL, 10);
	return true;
}

bool probe_enter(struct probe *probe, int *rc)
{
	const int saved = errno;
	const uint32_t call = __atomic_add_fetch(&probe->calls, 1, __ATOMIC_RELAXED);
	const char *item;
	bool hit = false;

	if (!__atomic_load_n(&probe->known, __ATOMIC_ACQUIRE)) {
		item = find_item(delays, probe->probe_name, ':');
		if (item)
			probe->delay = parse_delay(item, ':');
		item = find_item(delays, probe->probe_name, '>');
		if (item)
			probe->delay_after = parse_delay(item, '>');
		probe->faults = find_item(faults, probe->probe_name, '@');
		__atomic_store_n(&probe->known, 1, __ATOMIC_RELEASE);
	}
	delay(&probe->delay, call);
	for (item = probe->faults; item && !hit;
	     item = strchr(item, ',') ? find_item(strchr(item, ',') + 1, probe->probe_name, '@')
				      : NULL)
		hit = is_hit(item, call, rc);
	errno = saved;
	return hit;
}

void probe_leave(struct probe *probe, const int rc, const unsigned int n, const uint64_t *args)
{
	const int saved = errno;
	char line[512];
	int length, fd;
	unsigned int i;

	delay(&probe->delay_after, __atomic_load_n(&probe->calls, __ATOMIC_RELAXED));
	if (!trace_path[0]) {
		errno = saved;
		return;
	}
	length = snprintf(line, sizeof(line), "%d %ld %s", (int)getpid(), syscall(SYS_gettid),
			  probe->probe_name);
	for (i = 0; i < n; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length, " %#llx",
				   (unsigned long long)args[i]);
	length += snprintf(line + length, sizeof(line) - (size_t)length, " = %d\n", rc);
	fd = open(trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0) {
		(void)!write(fd, line, (size_t)length);
		close(fd);
	}
	errno = saved;
}
