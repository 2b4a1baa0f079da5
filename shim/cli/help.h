/*
 * What help.c (a terminal) and man.c (the manual page) both tell: the rows of commands.def and
 * options.def that no other file of the command needs.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/cli.h"

/* Text may have Markdown's backticks; "\n" in it begins a paragraph. */
struct setting {
	const char *name, *default_text, *value, *summary, *more;
};

extern const struct setting settings_table[];
extern const size_t setting_count;

struct example {
	const char *command, *line, *text;
};

extern const struct example examples[];
extern const size_t example_count;

/* The manual page as roff on stdout. */
void help_man(void);

#endif
