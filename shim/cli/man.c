/*
 * The manual page, made of the same tables as the help.
 */
#include "cli/help.h"

#include <cuquota/cuquota.h>
#include <stdio.h>
#include <string.h>

static const struct row {
	const char *name, *text;
} places[] = {
#define PLACE(path, text) {path, text},
#include "cli/commands.def"
},
  statuses[] = {
#define STATUS(code, text) {code, text},
#include "cli/commands.def"
};

/* Within a line of roff: backslashes and hyphens mean something, and a paragraph begins at "\n".
 * No text of the tables begins with a point or a quote, which would at the begin of a line. */
static void put_roff(const char *text)
{
	for (; *text; text++) {
		if (*text == '`')
			continue;
		if (*text == '\n') {
			printf("\n.PP\n");
			continue;
		}
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
	}
}

static void put_line(const char *text)
{
	put_roff(text);
	putchar('\n');
}

static void put_flag(const struct flag *flag)
{
	printf(".TP\n\\fB");
	if (flag->letter)
		printf("\\-%c\\fR, \\fB", flag->letter);
	put_roff("--");
	put_roff(flag->name);
	printf("\\fR");
	if (flag->argument[0] && flag->argument[0] != '[')
		putchar(' ');
	printf("\\fI");
	put_roff(flag->argument);
	printf("\\fR\n");
	put_line(flag->text);
}

static void put_commands(void)
{
	puts(".SH SYNOPSIS");
	for (size_t i = 0; i < command_count; i++) {
		printf(".B cuquota %s\n", commands[i].name);
		put_line(commands[i].arguments);
		puts(".br");
	}
	puts(".B cuquota \\-\\-version\n.SH COMMANDS");
	for (size_t i = 0; i < command_count; i++) {
		printf(".SS cuquota %s\n", commands[i].name);
		put_line(commands[i].summary);
		puts(".PP");
		put_line(commands[i].more);
		for (size_t j = 0; j < flag_count; j++)
			if (!strcmp(flags[j].command, commands[i].name))
				put_flag(&flags[j]);
	}
}

static void put_settings(void)
{
	puts(".SH ENVIRONMENT");
	for (size_t i = 0; i < setting_count; i++) {
		printf(".TP\n.B %s\n", settings_table[i].name);
		put_line(settings_table[i].summary);
		printf("(value: ");
		put_roff(settings_table[i].value);
		printf("; default: ");
		put_roff(settings_table[i].default_text);
		puts(").");
		put_line(settings_table[i].more);
	}
}

static void put_rows(const char *heading, const struct row *row, size_t count)
{
	printf(".SH %s\n", heading);
	for (; count; row++, count--) {
		printf(".TP\n.B ");
		put_line(row->name);
		put_line(row->text);
	}
}

void help_man(void)
{
	puts(".TH CUQUOTA 1 \"\" \"cuquota " CUQUOTA_VERSION "\" \"User Commands\"\n.SH NAME");
	puts("cuquota \\- share one NVIDIA GPU under limits");
	put_commands();
	puts(".SH EXAMPLES");
	for (size_t i = 0; i < example_count; i++) {
		printf(".TP\n.B ");
		put_line(examples[i].line);
		put_line(examples[i].text);
	}
	put_settings();
	put_rows("FILES", places, sizeof(places) / sizeof(*places));
	put_rows("EXIT STATUS", statuses, sizeof(statuses) / sizeof(*statuses));
}
