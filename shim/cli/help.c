/*
 * What the command says about itself: all of it made of commands.def and options.def.
 */
#include "cli/cli.h"

#include <cuquota/cuquota.h>
#include <stdio.h>
#include <string.h>

static const struct setting {
	const char *name, *default_text, *value, *summary, *more;
} settings_table[] = {
#define OPTION(field, name, kind, default_text, value, summary, more) \
	{name, default_text, value, summary, more},
#include "base/options.def"
};

#define SETTINGS (sizeof(settings_table) / sizeof(*settings_table))

/* Prints text without Markdown's backticks, broken so that lines end before
 * `width`, each one indented. */
static void print_wrapped(const char *text, int indent, int width)
{
	int column = 0;

	while (*text) {
		const size_t word = strcspn(text, " ");

		if (column && indent + column + 1 + (int)word > width) {
			putchar('\n');
			column = 0;
		}
		if (column)
			column += printf(" ");
		else
			printf("%*s", indent, "");
		for (size_t i = 0; i < word; i++)
			if (text[i] != '`')
				column += printf("%c", text[i]);
		text += word + strspn(text + word, " ");
	}
	putchar('\n');
}

void help_overview(void)
{
	puts("cuquota: share one NVIDIA GPU under limits\n");
	for (size_t i = 0; i < command_count; i++)
		printf("  cuquota %-6s %-24s %s\n", commands[i].name, commands[i].arguments,
		       commands[i].summary);
	puts("  cuquota --version\n");
	puts("`cuquota COMMAND --help` explains one, `cuquota help settings` the settings.");
}

static void help_settings(void)
{
	puts("Each setting is a variable of the environment; an empty one counts as not set.\n");
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct setting *const setting = &settings_table[i];

		printf("  %s\n", setting->name);
		print_wrapped(setting->summary, 6, 96);
		printf("      value: ");
		print_wrapped(setting->value, 0, 84);
		printf("      default: ");
		print_wrapped(setting->default_text, 0, 84);
		print_wrapped(setting->more, 6, 96);
		putchar('\n');
	}
	puts("Other names that are understood: CUDA_DEVICE_MEMORY_LIMIT and "
	     "CUDA_DEVICE_MEMORY_LIMIT_<i> (0 means");
	puts("none there), NVIDIA_GPU_MEMORY_LIMIT, NVIDIA_GPU_MEMORY_REQUEST. A CUQUOTA_ name "
	     "wins over them.");
}

static void print_flag(const struct flag *flag)
{
	char left[64];
	int length;

	length = snprintf(left, sizeof(left), "%c%c%s--%s%s%s", flag->letter ? '-' : ' ',
			  flag->letter ? flag->letter : ' ', flag->letter ? ", " : "  ", flag->name,
			  flag->argument[0] && flag->argument[0] != '[' ? " " : "", flag->argument);
	printf("  %s%*s%s\n", left, length < 28 ? 28 - length : 1, "", flag->text);
}

void help_command(const struct command *command)
{
	printf("cuquota %s %s: %s\n", command->name, command->arguments, command->summary);
	if (command->more[0]) {
		putchar('\n');
		print_wrapped(command->more, 0, 100);
	}
	putchar('\n');
	for (size_t i = 0; i < flag_count; i++)
		if (!strcmp(flags[i].command, command->name))
			print_flag(&flags[i]);
	puts("  -h, --help                  this text");
	if (!strcmp(command->name, "run")) {
		puts("\nThe same can be set in the environment (more: `cuquota help settings`):\n");
		for (size_t i = 0; i < SETTINGS; i++)
			printf("  %-24s %s\n", settings_table[i].name, settings_table[i].summary);
	}
}

/* roff: a line that begins with a point or a quote, and backslashes and hyphens, mean something. */
static void print_roff(const char *text)
{
	for (; *text; text++) {
		if (*text == '`')
			continue;
		if (*text == '\\' || *text == '-')
			putchar('\\');
		putchar(*text);
	}
	putchar('\n');
}

static void help_man(void)
{
	puts(".TH CUQUOTA 1 \"\" \"cuquota " CUQUOTA_VERSION "\" \"User Commands\"\n.SH NAME");
	puts("cuquota \\- share one NVIDIA GPU under limits\n.SH SYNOPSIS");
	for (size_t i = 0; i < command_count; i++) {
		printf(".B cuquota %s\n", commands[i].name);
		print_roff(commands[i].arguments);
		puts(".br");
	}
	puts(".SH COMMANDS");
	for (size_t i = 0; i < command_count; i++) {
		printf(".SS cuquota %s\n", commands[i].name);
		print_roff(commands[i].summary);
		puts(".PP");
		print_roff(commands[i].more);
		for (size_t j = 0; j < flag_count; j++) {
			if (strcmp(flags[j].command, commands[i].name))
				continue;
			printf(".TP\n.B ");
			if (flags[j].letter)
				printf("\\-%c, ", flags[j].letter);
			printf("\\-\\-");
			print_roff(flags[j].name);
			print_roff(flags[j].text);
		}
	}
	puts(".SH ENVIRONMENT");
	for (size_t i = 0; i < SETTINGS; i++) {
		printf(".TP\n.B %s\n", settings_table[i].name);
		print_roff(settings_table[i].summary);
		printf("(value: ");
		for (const char *c = settings_table[i].value; *c; c++)
			if (*c != '`')
				putchar(*c);
		printf("; default: ");
		for (const char *c = settings_table[i].default_text; *c; c++)
			if (*c != '`')
				putchar(*c);
		puts(").");
		print_roff(settings_table[i].more);
	}
}

static int take(const struct flag *flag, const char *value, void *man)
{
	*(bool *)man = true;
	return 0;
}

int command_help(int argc, char **argv)
{
	bool man = false;
	const int first = flags_parse(argc, argv, take, &man);
	const struct command *command;

	if (first < 0)
		return first == -2 ? 0 : STATUS_USAGE;
	if (man) {
		help_man();
		return 0;
	}
	if (first == argc) {
		help_overview();
		return 0;
	}
	if (!strcmp(argv[first], "settings")) {
		help_settings();
		return 0;
	}
	command = command_find(argv[first]);
	if (!command) {
		complain("there is nothing to say about %s; see `cuquota help`", argv[first]);
		return STATUS_USAGE;
	}
	help_command(command);
	return 0;
}
