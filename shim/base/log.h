/*
 * Lines for a human, from inside somebody else's process.
 *
 * Promises: at most one write(2) for each line, to stderr or CUQUOTA_LOG_FILE, never stdout;
 * keeps errno; does not allocate, take a lock, raise SIGPIPE, or wait for a slow reader for
 * more than 10 ms (the line is dropped then). Style: lower case, no full stop, the device's
 * UUID, bytes with a unit.
 * The prefix "cuquota: " and the newline are added here.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_OFF,
		 LOG_ERROR,
		 LOG_WARN,
		 LOG_INFO,
		 LOG_DEBUG };

#define LOG_LINE 1024 /* bytes of a line at most, newline included */

/* Before a first line the level and the file come from settings_get(); settings.c calls this.
 * `path` must live as long as the process; NULL or "" is stderr. */
void log_setup(enum log_level level, const char *path);

/* May a line of this level be written? For callers that would have to gather something for it. */
bool log_wants(enum log_level level);

void log_at(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* At most one line a second: zero-initialised, one for each kind of line. */
struct log_limit {
	uint64_t next_ns;
	unsigned suppressed;
};

/* True: write the line now; *suppressed is how many were left out since the last one. `now_ns` is
 * CLOCK_MONOTONIC. Of threads that ask together at most one is told true. */
bool log_limited(struct log_limit *limit, uint64_t now_ns, unsigned *suppressed);

#endif
