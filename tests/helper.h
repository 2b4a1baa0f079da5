/*
 * For the tests in C: checks that print both values, and clients on pipes.
 *
 * A check that fails prints where, what and both values to stderr and ends the process with 1.
 * Nothing here waits without a deadline. A client is a child that dies with its parent; it reads
 * lines from us and we read lines from it, so that two processes go step by step without sleeping.
 */
#ifndef TESTS_HELPER_H
#define TESTS_HELPER_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_USED __attribute__((unused))
#define DEADLINE_MS 20000 /* for what should take no time at all */

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond) ((cond) ? (void)0 : FAIL("not so: %s", #cond))
#define CHECK_OP(a, op, b)                                                                \
	do {                                                                              \
		__typeof__(a) check_a_ = (a);                                             \
		__typeof__(b) check_b_ = (b);                                             \
		if (!(check_a_ op check_b_))                                              \
			FAIL("%s is %lld (%#llx), want %s %s, which is %lld (%#llx)", #a, \
			     (long long)check_a_, (long long)check_a_, #op, #b,           \
			     (long long)check_b_, (long long)check_b_);                   \
	} while (0)
#define CHECK_EQ(a, b) CHECK_OP(a, ==, b)
#define CHECK_NE(a, b) CHECK_OP(a, !=, b)
#define CHECK_LE(a, b) CHECK_OP(a, <=, b)
#define CHECK_GE(a, b) CHECK_OP(a, >=, b)
#define CHECK_STR(a, b)                                                                           \
	do {                                                                                      \
		const char *check_a_ = (a), *check_b_ = (b);                                      \
		if (!check_a_ || !check_b_ || strcmp(check_a_, check_b_))                         \
			FAIL("%s is \"%s\", want %s, which is \"%s\"", #a,                        \
			     check_a_ ? check_a_ : "(null)", #b, check_b_ ? check_b_ : "(null)"); \
	} while (0)
/* For calls that set errno. */
#define CHECK_SYS(call)                                         \
	do {                                                    \
		if ((call) == -1)                               \
			FAIL("%s: %s", #call, strerror(errno)); \
	} while (0)
#define SKIP(reason)                             \
	do {                                     \
		printf("skipped: %s\n", reason); \
		exit(77);                        \
	} while (0)

TEST_USED __attribute__((noreturn, format(printf, 3, 4))) static void
test_fail(const char *file, int line, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(2, "%s:%d: [%d] %s\n", file, line, (int)getpid(), text);
	_exit(1);
}

TEST_USED static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* TEST_LONG=1 (make test-long) asks for the long form. */
TEST_USED static int test_long(void)
{
	return getenv("TEST_LONG") != NULL;
}

/* The path of a built file, such as "libcuquota.so" or "simgpu/libcuda.so.1". In a
 * buffer of four in turn. */
TEST_USED static const char *built(const char *name)
{
	static __thread char path[4][PATH_MAX];
	static __thread unsigned turn;
	const char *const build = getenv("BUILD");
	char *const p = path[turn++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", build ? build : "build", name);
	return p;
}

/* What LD_PRELOAD must hold for the library (its debug build): a
 * sanitizer's runtime comes first. */
TEST_USED static const char *preload_of(const char *library)
{
	static __thread char value[3 * PATH_MAX];
	const char *const first = getenv("TEST_PRELOAD_FIRST");

	snprintf(value, sizeof(value), "LD_PRELOAD=%s%s%s", first ? first : "", first ? ":" : "",
		 built(library));
	return value;
}

struct client {
	pid_t pid;
	int to;	  /* its stdin */
	int from; /* its stdout */
};

/*
 * Starts a client: argv in a new program with `env` put over our environment ("NAME=value" sets,
 * "NAME" unsets), or, where argv is NULL, body(arg) in a forked child, which then reads 0 and
 * writes 1 and exits with its result.
 */
TEST_USED static struct client client_new(const char *const argv[], const char *const env[],
					  int (*body)(void *), void *arg)
{
	struct client c = {0};
	const pid_t parent = getpid();
	int in[2], out[2];

	CHECK_SYS(pipe2(in, O_CLOEXEC));
	CHECK_SYS(pipe2(out, O_CLOEXEC));
	fflush(NULL);
	c.pid = fork();
	CHECK_SYS(c.pid);
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		for (; env && *env; env++)
			if (strchr(*env, '='))
				putenv(strdup(*env));
			else
				unsetenv(*env);
		if (!argv)
			_exit(body(arg));
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		dprintf(2, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c.to = in[1];
	c.from = out[0];
	return c;
}

TEST_USED static struct client client_start(const char *const argv[], const char *const env[])
{
	return client_new(argv, env, NULL, NULL);
}

TEST_USED static struct client client_fork(int (*body)(void *), void *arg)
{
	return client_new(NULL, NULL, body, arg);
}

/* As client_start, under the preload of the real library. */
TEST_USED static struct client client_capped(const char *const argv[], const char *const env[])
{
	const char *all[64] = {preload_of("libcuquota.so")};
	int n = 1;

	for (; env && *env && n < 63; env++)
		all[n++] = *env;
	return client_new(argv, all, NULL, NULL);
}

/* Sends one line (its newline is added). */
TEST_USED __attribute__((format(printf, 2, 3))) static void client_say(const struct client *c,
								       const char *format, ...)
{
	char line[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	CHECK(n >= 0 && n < (int)sizeof(line) - 1);
	line[n++] = '\n';
	CHECK_EQ((long)write(c->to, line, n), (long)n);
}

/* The next line that the client printed, without its newline; fails the test after ms. NULL: it
 * closed its end. */
TEST_USED static const char *client_line(const struct client *c, int ms)
{
	static __thread char line[4096];
	const int64_t until = now_ms() + ms;
	size_t n = 0;

	while (n < sizeof(line) - 1) {
		struct pollfd p = {.fd = c->from, .events = POLLIN};
		const int64_t left = until - now_ms();
		ssize_t got;

		if (left <= 0 || poll(&p, 1, left) == 0)
			FAIL("client %d printed no line within %d ms, after \"%.*s\"", (int)c->pid,
			     ms, (int)n, line);
		got = read(c->from, line + n, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 && n == 0)
			return NULL;
		if (got <= 0 || line[n] == '\n')
			break;
		n++;
	}
	line[n] = 0;
	return line;
}

/* The client's next line must be this one. */
#define CLIENT_SAYS(c, want) CHECK_STR(client_line((c), DEADLINE_MS), want)

/* Waits for the client's end: its exit status, or 128 + its signal. Fails the test after ms,
 * killing the client. */
TEST_USED static int client_wait(struct client *c, int ms)
{
	const int64_t until = now_ms() + ms;
	int status = 0;
	pid_t got;

	if (c->to >= 0)
		close(c->to);
	c->to = -1;
	while ((got = waitpid(c->pid, &status, WNOHANG)) == 0 && now_ms() < until)
		usleep(500);
	if (got == 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
		FAIL("client %d did not end within %d ms", (int)c->pid, ms);
	}
	CHECK_SYS(got);
	close(c->from);
	c->from = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_USED static void client_kill(struct client *c, int signal_number)
{
	CHECK_SYS(kill(c->pid, signal_number));
}

/* Open descriptors of this process. */
TEST_USED static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Both print the same lines, and end well. */
TEST_USED static void clients_agree(struct client *one, struct client *other)
{
	const char *line;

	while ((line = client_line(one, DEADLINE_MS))) {
		char want[4096];

		snprintf(want, sizeof(want), "%s", line);
		CLIENT_SAYS(other, want);
	}
	CHECK(!client_line(other, DEADLINE_MS));
	CHECK_EQ(client_wait(one, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(other, DEADLINE_MS), 0);
}

#endif
