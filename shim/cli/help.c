/*
 * What the command says about itself on a terminal: all of it made of commands.def and options.def.
 */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 100
#define LEFT 30 /* columns before the text of an option */

const struct setting settings_table[] = {
#define OPTION(field, name, kind, default_text, value, summary, more) \
	{name, default_text, value, summary, more},
#include "base/options.def"
#define VARIABLE(name, value, default_text, summary, more) \
	{name, default_text, value, summary, more},
#include "cli/commands.def"
};
const size_t setting_count = sizeof(settings_table) / sizeof(*settings_table);

const struct example examples[] = {
#define EXAMPLE(command, line, text) {#command, line, text},
#include "cli/commands.def"
};
const size_t example_count = sizeof(examples) / sizeof(*examples);

/* Prints text without Markdown's backticks, broken so that lines end before `width`, each one
 * indented but the first, which begins where the caller left off. An empty line at each "\n". */
static void print_after(const char *text, int indent, int width)
{
	int column = 0;

	while (*text) {
		const size_t word = strcspn(text, " \n");
		int shown = 0;

		for (size_t i = 0; i < word; i++)
			shown += text[i] != '`';
		if (column && indent + column + 1 + shown > width) {
			printf("\n%*s", indent, "");
			column = 0;
		}
		if (column)
			column += printf(" ");
		for (size_t i = 0; i < word; i++)
			if (text[i] != '`')
				column += printf("%c", text[i]);
		text += word;
		if (*text == '\n') {
			printf("\n\n%*s", indent, "");
			column = 0;
			text++;
		}
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_wrapped(const char *text, int indent, int width)
{
	printf("%*s", indent, "");
	print_after(text, indent, width);
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
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *const setting = &settings_table[i];

		printf("  %s\n", setting->name);
		print_wrapped(setting->summary, 6, 96);
		printf("      value: ");
		print_after(setting->value, 13, 96);
		printf("      default: ");
		print_after(setting->default_text, 15, 96);
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

	snprintf(left, sizeof(left), "%c%c%s--%s%s%s", flag->letter ? '-' : ' ',
		 flag->letter ? flag->letter : ' ', flag->letter ? ", " : "  ", flag->name,
		 flag->argument[0] && flag->argument[0] != '[' ? " " : "", flag->argument);
	printf("  %-*s", LEFT - 2, left);
	print_after(flag->text, LEFT, WIDTH);
}

void help_command(const struct command *command)
{
	bool first = true;

	printf("cuquota %s %s: %s\n\n", command->name, command->arguments, command->summary);
	print_wrapped(command->more, 0, WIDTH);
	putchar('\n');
	for (size_t i = 0; i < flag_count; i++)
		if (!strcmp(flags[i].command, command->name))
			print_flag(&flags[i]);
	puts("  -h, --help                  this text");
	for (size_t i = 0; i < example_count; i++) {
		if (strcmp(examples[i].command, command->name))
			continue;
		if (first)
			puts("\nExamples:\n");
		first = false;
		printf("  %s\n", examples[i].line);
		print_wrapped(examples[i].text, 6, WIDTH);
	}
	if (!strcmp(command->name, "run")) {
		puts("\nThe same can be set in the environment (more: `cuquota help settings`):\n");
		for (size_t i = 0; i < setting_count; i++) {
			printf("  %-*s", LEFT - 2, settings_table[i].name);
			print_after(settings_table[i].summary, LEFT, WIDTH);
		}
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
