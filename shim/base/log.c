/*
 * Writing a line; see log.h. The file is opened for each line: an application that closes all
 * descriptors, or reuses ours, then loses nothing and gets none of our bytes.
 */
#include "base/log.h"
#include "base/settings.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define PATIENCE_MS 10

static int log_level = -1;
static const char *log_path;

void log_setup(enum log_level level, const char *path)
{
	__atomic_store_n(&log_path, path && *path ? path : NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&log_level, (int)level, __ATOMIC_RELEASE);
}

bool log_wants(enum log_level level)
{
	int wanted = __atomic_load_n(&log_level, __ATOMIC_ACQUIRE);

	if (wanted < 0) {
		settings_get();
		wanted = __atomic_load_n(&log_level, __ATOMIC_ACQUIRE);
	}
	return (int)level <= wanted;
}

/* poll and write may raise SIGPIPE in a program that would never have
 * written to its dead stderr. */
static void write_line(int fd, const char *line, size_t length)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	sigset_t pipe_signal, old, pending;
	bool was_pending;

	if (poll(&ready, 1, PATIENCE_MS) != 1 || !(ready.revents & POLLOUT))
		return;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	if (pthread_sigmask(SIG_BLOCK, &pipe_signal, &old))
		return;
	if (write(fd, line, length) < 0 && errno == EPIPE && !was_pending)
		while (sigtimedwait(&pipe_signal, NULL, &(struct timespec){0}) < 0 &&
		       errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void emit(const char *line, size_t length)
{
	const char *const path = __atomic_load_n(&log_path, __ATOMIC_RELAXED);
	int fd = -1;

	if (path)
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0666);
	write_line(fd < 0 ? STDERR_FILENO : fd, line, length);
	if (fd >= 0)
		close(fd);
}

void log_at(enum log_level level, const char *format, ...)
{
	const int saved = errno;
	char line[LOG_LINE];
	struct text text;
	va_list args;
	int cancel;

	if (log_wants(level)) {
		text_init(&text, line, sizeof(line) - 1); /* room for the newline */
		text_add(&text, "cuquota: ");
		va_start(args, format);
		text_vadd(&text, format, args);
		va_end(args);
		line[text.length++] = '\n';
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		emit(line, text.length);
		pthread_setcancelstate(cancel, NULL);
	}
	errno = saved;
}

bool log_limited(struct log_limit *limit, uint64_t now_ns, unsigned *suppressed)
{
	uint64_t next = __atomic_load_n(&limit->next_ns, __ATOMIC_RELAXED);

	if (now_ns < next ||
	    !__atomic_compare_exchange_n(&limit->next_ns, &next, now_ns + SECOND_NS, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&limit->suppressed, 1, __ATOMIC_RELAXED);
		return false;
	}
	*suppressed = __atomic_exchange_n(&limit->suppressed, 0, __ATOMIC_RELAXED);
	return true;
}
