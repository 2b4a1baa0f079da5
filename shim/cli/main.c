/*
 * `cuquota`: which command is meant.
 */
#include "cli/cli.h"

#include <cuquota/cuquota.h>
#include <stdio.h>
#include <string.h>

static const char *const planned[] = {
#define PLANNED(name) #name,
#include "cli/commands.def"
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters must be added, dropped, changed or swapped to make `b` of `a`;
 * words of up to 15 letters. */
static size_t distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	size_t cost[17][17];

	if (n > 15 || m > 15)
		return 16;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				cost[i][j] = i + j;
				continue;
			}
			cost[i][j] = least(least(cost[i - 1][j], cost[i][j - 1]) + 1,
					   cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	}
	return cost[n][m];
}

static int unknown(const char *name)
{
	const char *best = NULL;
	size_t nearest = 3;

	for (size_t i = 0; i < sizeof(planned) / sizeof(*planned); i++) {
		if (!strcmp(planned[i], name)) {
			complain("`cuquota %s` does not exist yet; see `cuquota help` for what "
				 "does",
				 name);
			return STATUS_USAGE;
		}
	}
	for (size_t i = 0; i < command_count; i++) {
		const size_t here = distance(name, commands[i].name);

		if (here < nearest) {
			nearest = here;
			best = commands[i].name;
		}
	}
	if (best)
		complain("there is no command %s; did you mean `cuquota %s`?", name, best);
	else
		complain("there is no command %s; see `cuquota help`", name);
	return STATUS_USAGE;
}

static int version(void)
{
	printf("cuquota %s (ledger layout %u, built with %s)\n", CUQUOTA_VERSION, CUQUOTA_LAYOUT,
#ifdef __clang__
	       "clang " __clang_version__
#else
	       "gcc " __VERSION__
#endif
	);
	return 0;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		help_overview();
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return version();
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_overview();
		return 0;
	}
	if (argv[1][0] == '-') {
		complain("options follow the command, as in `cuquota run %s ... -- CMD`; see "
			 "`cuquota help`",
			 argv[1]);
		return STATUS_USAGE;
	}
	command = command_find(argv[1]);
	return command ? command->run(argc - 1, argv + 1) : unknown(argv[1]);
}
