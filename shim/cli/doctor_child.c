/*
 * Starting a child of `cuquota doctor` and reading what it says. It is ended by its own number if
 * it does not come to its end in time.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 30000 /* a real driver may take seconds to start on many cards */

static void become(const char *what, const char *const *changes, const char *const *arguments)
{
	const char *const first[] = {"cuquota", "doctor", "--look", what};
	char *argv[4 + DOCTOR_DEVICES + 2] = {NULL};
	unsigned n;

	for (n = 0; n < 4; n++)
		argv[n] = strdup(first[n]);

	for (; changes && *changes; changes++) {
		const char *const equal = strchr(*changes, '=');
		char name[64];

		if (!equal) {
			unsetenv(*changes);
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(equal - *changes), *changes);
		setenv(name, equal + 1, 1);
	}
	for (; arguments && *arguments && n < sizeof(argv) / sizeof(*argv) - 1; arguments++)
		argv[n++] = strdup(*arguments);
	execv("/proc/self/exe", argv);
	_exit(errno == ENOENT ? 127 : 126);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* All that comes until the end of it, or of the patience: false. */
static bool read_all(int from, char **text, size_t *length)
{
	const long until = now_ms() + PATIENCE_MS;
	size_t room = 0;

	for (;;) {
		struct pollfd ready = {from, POLLIN, 0};
		const long left = until - now_ms();
		ssize_t got;

		if (*length + 4096 >= room) {
			char *const more = realloc(*text, room + 65536);

			if (!more)
				return false;
			*text = more;
			room += 65536;
		}
		if (left <= 0 || (poll(&ready, 1, (int)left) <= 0 && errno != EINTR))
			return false;
		got = read(from, *text + *length, 4096);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return true;
		*length += (size_t)got;
	}
}

static void keep_lines(struct answer *answer, char *text)
{
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!strncmp(line, "= ", 2) && answer->count < ANSWER_LINES) {
			answer->line[answer->count] = strdup(line + 2);
			answer->count += answer->line[answer->count] != NULL;
		} else if (*line) {
			snprintf(answer->said, sizeof(answer->said), "%s", line);
		}
	}
}

static void how_it_ended(struct answer *answer, bool in_time, int status)
{
	if (!in_time)
		snprintf(answer->end, sizeof(answer->end), "it did not answer in %d s",
			 PATIENCE_MS / 1000);
	else if (WIFSIGNALED(status))
		snprintf(answer->end, sizeof(answer->end), "the child was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		snprintf(answer->end, sizeof(answer->end), "the child ended with status %d",
			 WEXITSTATUS(status));
}

void child_ask(struct answer *answer, const char *what, const char *const *changes,
	       const char *const *arguments)
{
	int ends[2], status = 0;
	size_t length = 0;
	char *text = NULL;
	bool in_time;
	pid_t child;

	memset(answer, 0, sizeof(*answer));
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(answer->end, sizeof(answer->end), "no pipe: %s", strerror(errno));
		return;
	}
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		become(what, changes, arguments);
	}
	close(ends[1]);
	if (child < 0) {
		snprintf(answer->end, sizeof(answer->end), "no child: %s", strerror(errno));
		close(ends[0]);
		return;
	}
	in_time = read_all(ends[0], &text, &length);
	if (!in_time)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	close(ends[0]);
	if (text) {
		text[length] = '\0';
		keep_lines(answer, text);
	}
	how_it_ended(answer, in_time, status);
	free(text);
}

void child_forget(struct answer *answer)
{
	for (unsigned i = 0; i < answer->count; i++)
		free(answer->line[i]);
	answer->count = 0;
}

const char *after(const char *line, const char *words)
{
	const size_t length = strlen(words);

	return strncmp(line, words, length) ? NULL : line + length;
}

const char *answer_find(const struct answer *answer, const char *words)
{
	for (unsigned i = 0; i < answer->count; i++) {
		const char *const rest = after(answer->line[i], words);

		if (rest)
			return rest;
	}
	return NULL;
}

char *next_word(char **rest)
{
	char *const word = *rest + strspn(*rest, " ");
	const size_t length = strcspn(word, " ");

	*rest = word + length + (word[length] != '\0');
	word[length] = '\0';
	return word;
}
