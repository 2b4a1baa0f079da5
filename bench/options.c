/* See options.h. */
#include "options.h"
#include "bench.h"

#include <fcntl.h>
#include <sched.h>

void options_parse(int argc, char **argv, const struct option *known)
{
	for (int i = 1; i < argc; i++) {
		const char *const value = strchr(argv[i], '=');
		const size_t length = value ? (size_t)(value - argv[i]) : 0;
		const struct option *o = known;

		while (value && o->name && (strncmp(argv[i], o->name, length) || o->name[length]))
			o++;
		if (!value || !o->name)
			STOP("not understood: %s", argv[i]);
		if (o->text)
			*o->text = value + 1;
		else
			*o->number = atol(value + 1);
	}
}

int options_index(const char *word, const char *const names[], const char *what)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(word, names[i]))
			return i;
	STOP("%s=%s is not known", what, word);
}

void pin_to(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		STOP("processor %ld: %s", cpu, strerror(errno));
}

void pin_in_turn(long n)
{
	cpu_set_t allowed;
	long cpu = 0, count;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		STOP("the processors: %s", strerror(errno));
	count = CPU_COUNT(&allowed);
	for (n = (n % count + count) % count; n >= 0; cpu++)
		n -= CPU_ISSET((size_t)cpu, &allowed) != 0;
	pin_to(cpu - 1);
}

uint64_t waited_ns(void)
{
	const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	unsigned long long waited = 0;
	char text[96] = "";

	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) > 0)
		sscanf(text, "%*u %llu", &waited);
	close(file);
	return waited;
}
