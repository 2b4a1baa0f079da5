/*
 * How long a program takes from its start to its end, in each of some environments in turn.
 *
 *     spawn ROUNDS AT_ONCE [NAME=VALUE...] : [NAME=VALUE...] [: ...] -- PROGRAM [ARGUMENT...]
 *
 * Each part before a colon or the dashes is put over the inherited environment of one way to
 * start it. A round starts each way once, AT_ONCE programs together, and waits for all; it
 * prints one line with the ns of each way, in their order. The order of starting turns with the
 * rounds. A program that does not end with 0 ends us.
 */
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>

#define WAYS 8
#define SETTINGS 64
#define AT_ONCE 256

static char *environment[WAYS][SETTINGS * 4];

static bool is_set(char *const settings[], const char *entry)
{
	for (; *settings; settings++)
		if (!strncmp(*settings, entry, (size_t)(strchr(*settings, '=') - *settings) + 1))
			return true;
	return false;
}

/* What is set for the way, then what is inherited beside it. */
static void fill(char **way, char *const settings[])
{
	unsigned n = 0;

	for (char *const *s = settings; *s; s++)
		way[n++] = *s;
	for (char **e = environ; *e && n < SETTINGS * 4 - 1; e++)
		if (!is_set(settings, *e))
			way[n++] = *e;
}

static uint64_t once(char **way, char **command, int at_once)
{
	const uint64_t begin = now_ns();
	pid_t pid[AT_ONCE];

	for (int i = 0; i < at_once; i++)
		if (posix_spawn(&pid[i], command[0], NULL, NULL, command, way))
			STOP("%s cannot be started", command[0]);
	for (int i = 0; i < at_once; i++) {
		int status;

		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			STOP("%s ended with status %#x", command[0], status);
	}
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 3 ? atoi(argv[1]) : 0, at_once = argc > 3 ? atoi(argv[2]) : 0;
	char *settings[SETTINGS] = {NULL};
	int at = 3, ways = 0, count = 0;

	for (; at < argc; at++) {
		const bool last = !strcmp(argv[at], "--");

		if (last || !strcmp(argv[at], ":")) {
			fill(environment[ways++], settings);
			memset(settings, 0, sizeof(settings));
			count = 0;
		} else if (strchr(argv[at], '=') && count < SETTINGS - 1) {
			settings[count++] = argv[at];
		} else {
			STOP("not understood: %s", argv[at]);
		}
		if (last)
			break;
		if (ways == WAYS)
			STOP("at most %d ways", WAYS);
	}
	if (rounds < 1 || at_once < 1 || at_once > AT_ONCE || at + 1 >= argc)
		STOP("spawn ROUNDS AT_ONCE [NAME=VALUE...] : ... -- PROGRAM [ARGUMENT...]");
	for (int round = 0; round < rounds; round++) {
		uint64_t took[WAYS];

		for (int i = 0; i < ways; i++) {
			const int way = (i + round) % ways;

			took[way] = once(environment[way], argv + at + 1, at_once);
		}
		for (int i = 0; i < ways; i++)
			printf("%llu%c", (unsigned long long)took[i], i + 1 < ways ? ' ' : '\n');
	}
	return 0;
}
