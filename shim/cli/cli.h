/*
 * What the parts of the `cuquota` command share: the tables made of
 * commands.def, and how flags are read.
 *
 * The command is a program of its own: it may use stdio and exit. Errors go to stderr, name the way
 * out, and end with status 2 for a mistake of the caller's and 1 for anything else.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

enum { STATUS_ERROR = 1,
       STATUS_USAGE = 2,
       STATUS_NO_DEVICE = 3,
       STATUS_CANNOT_START = 126,
       STATUS_NOT_FOUND = 127 };

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	const char *more;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);

struct flag {
	const char *command;
	char letter;
	const char *name;
	const char *argument; /* "": none, "[=X]": optional */
	const char *setting;  /* the variable it sets, "" for none */
	const char *text;
};

extern const struct flag flags[];
extern const size_t flag_count;

/* Calls `take` for each flag (value NULL without one). Returns the index of the first operand, or
 * -1 after a message; -2 after --help was answered. `take` returns 0, or another value that ends
 * the call with -1. */
int flags_parse(int argc, char **argv,
		int (*take)(const struct flag *flag, const char *value, void *context),
		void *context);

int command_run(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_help(int argc, char **argv);

void help_overview(void);
void help_command(const struct command *command);

/* "cuquota: ..." on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
