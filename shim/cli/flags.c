/*
 * The tables of commands.def, and reading a command's flags by them.
 */
#include "cli/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST 32 /* flags of one command */

const struct command commands[] = {
#define COMMAND(name, arguments, summary, more) {#name, arguments, summary, more, command_##name},
#include "cli/commands.def"
};
const size_t command_count = sizeof(commands) / sizeof(*commands);

const struct flag flags[] = {
#define FLAG(command, letter, name, argument, setting, text) \
	{#command, letter, name, argument, setting, text},
#include "cli/commands.def"
};
const size_t flag_count = sizeof(flags) / sizeof(*flags);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

void complain(const char *format, ...)
{
	va_list args;

	fputs("cuquota: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int argument_kind(const struct flag *flag)
{
	if (!flag->argument[0])
		return no_argument;
	return flag->argument[0] == '[' ? optional_argument : required_argument;
}

struct tables {
	char letters[2 * MOST + 4];
	struct option names[MOST + 2];
	const struct flag *flag[MOST];
	int count;
};

static void make_tables(const char *command, struct tables *tables)
{
	char *letter = tables->letters;

	memset(tables, 0, sizeof(*tables));
	*letter++ = '+'; /* the operands of `run` are another program's */
	*letter++ = ':';
	*letter++ = 'h';
	for (size_t i = 0; i < flag_count && tables->count < MOST; i++) {
		const struct flag *const flag = &flags[i];

		if (strcmp(flag->command, command))
			continue;
		/* Values above any character stand for the row. */
		tables->names[tables->count] =
			(struct option){flag->name, argument_kind(flag), NULL, 256 + tables->count};
		tables->flag[tables->count++] = flag;
		if (flag->letter) {
			*letter++ = flag->letter;
			if (argument_kind(flag) == required_argument)
				*letter++ = ':';
		}
	}
	tables->names[tables->count] = (struct option){"help", no_argument, NULL, 'h'};
}

static const struct flag *flag_of(const struct tables *tables, int chosen)
{
	for (int i = 0; i < tables->count; i++)
		if (chosen == 256 + i ||
		    (tables->flag[i]->letter && chosen == tables->flag[i]->letter))
			return tables->flag[i];
	return NULL;
}

int flags_parse(int argc, char **argv,
		int (*take)(const struct flag *flag, const char *value, void *context),
		void *context)
{
	struct tables tables;
	int chosen;

	make_tables(argv[0], &tables);
	optind = 1;
	opterr = 0;
	while ((chosen = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		const struct flag *const flag = flag_of(&tables, chosen);
		const char *const given = argv[optind - 1];

		if (chosen == 'h') {
			help_command(command_find(argv[0]));
			return -2;
		}
		if (chosen == ':') {
			complain("%s needs a value; see `cuquota %s --help`", given, argv[0]);
			return -1;
		}
		if (!flag) {
			complain("%s has no option %s; see `cuquota %s --help`", argv[0], given,
				 argv[0]);
			return -1;
		}
		if (take(flag, optarg, context))
			return -1;
	}
	return optind;
}
