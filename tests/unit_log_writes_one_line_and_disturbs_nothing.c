/*
 * A line is one write to stderr or the file; errno, stdout, signals and a dead or
 * stuck reader are left alone.
 */
#include "helper.h"
#include "base/log.h"

static char folder[PATH_MAX];

static size_t drain(int fd, char *buffer, size_t size)
{
	ssize_t got = read(fd, buffer, size - 1);

	buffer[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static void swap(int fd, int target, int *saved)
{
	*saved = dup(target);
	dup2(fd, target);
}

static void restore(int saved, int target)
{
	dup2(saved, target);
	close(saved);
}

/* With O_DIRECT a pipe keeps writes apart, so one read is one write. */
static void one_write_with_errno_kept(void)
{
	char text[4096], out[64];
	int pipes[2], stdout_pipe[2], saved_err, saved_out;

	CHECK_SYS(pipe2(pipes, O_DIRECT | O_NONBLOCK));
	CHECK_SYS(pipe2(stdout_pipe, O_NONBLOCK));
	fflush(NULL);
	swap(pipes[1], 2, &saved_err);
	swap(stdout_pipe[1], 1, &saved_out);
	log_setup(LOG_WARN, NULL);
	errno = 77;
	log_warn("limit reached on %s: asked %s", "GPU-1f2e", "2.0 GiB");
	const int kept = errno;
	log_info("not at this level");
	log_error("%*s", 3000, "x");
	restore(saved_err, 2);
	restore(saved_out, 1);
	CHECK_EQ(kept, 77);
	drain(pipes[0], text, sizeof(text));
	CHECK_STR(text, "cuquota: limit reached on GPU-1f2e: asked 2.0 GiB\n");
	CHECK_EQ(drain(pipes[0], text, sizeof(text)), (size_t)LOG_LINE - 1);
	CHECK_STR(text + LOG_LINE - 5, "...\n");
	CHECK_EQ(drain(pipes[0], text, sizeof(text)), (size_t)0);
	CHECK_EQ(drain(stdout_pipe[0], out, sizeof(out)), (size_t)0);
	for (unsigned i = 0; i < 2; i++) {
		close(pipes[i]);
		close(stdout_pipe[i]);
	}
}

static void a_dead_reader_raises_no_signal(void)
{
	int pipes[2], saved;
	sigset_t before, after;

	CHECK_SYS(pipe2(pipes, 0));
	close(pipes[0]);
	swap(pipes[1], 2, &saved);
	sigprocmask(SIG_SETMASK, NULL, &before);
	log_error("nobody reads this"); /* SIGPIPE has its default action: it would end us */
	sigprocmask(SIG_SETMASK, NULL, &after);
	restore(saved, 2);
	close(pipes[1]);
	CHECK_EQ(sigismember(&before, SIGPIPE), sigismember(&after, SIGPIPE));
	CHECK(!sigpending(&after) && sigismember(&after, SIGPIPE) == 0);
}

static void a_stuck_reader_is_not_waited_for(void)
{
	static const char fill[4096];
	int pipes[2], saved;

	CHECK_SYS(pipe2(pipes, O_NONBLOCK));
	while (write(pipes[1], fill, sizeof(fill)) > 0)
		;
	CHECK_SYS(fcntl(pipes[1], F_SETFL, 0));
	swap(pipes[1], 2, &saved);
	const int64_t start = now_ms();
	log_error("the pipe is full");
	const int64_t took = now_ms() - start;
	restore(saved, 2);
	close(pipes[0]);
	close(pipes[1]);
	CHECK_LE(took, 1000);
}

static void a_file_is_appended_to(void)
{
	char path[PATH_MAX + 8], text[512];
	int fd;

	snprintf(path, sizeof(path), "%s/log", folder);
	log_setup(LOG_DEBUG, path);
	log_debug("one");
	log_debug("two");
	fd = open(path, O_RDONLY);
	CHECK_SYS(fd);
	drain(fd, text, sizeof(text));
	close(fd);
	unlink(path);
	CHECK_STR(text, "cuquota: one\ncuquota: two\n");
}

static void a_file_that_cannot_be_written_is_harmless(void)
{
	char text[512];
	int pipes[2], saved;

	CHECK_SYS(pipe2(pipes, O_NONBLOCK));
	swap(pipes[1], 2, &saved);
	log_setup(LOG_WARN, "/nonexistent/folder/log");
	errno = 5;
	log_warn("still said");
	const int kept = errno;
	restore(saved, 2);
	drain(pipes[0], text, sizeof(text));
	close(pipes[0]);
	close(pipes[1]);
	CHECK_EQ(kept, 5);
	CHECK_STR(text, "cuquota: still said\n");
}

static void once_a_second_with_a_count(void)
{
	struct log_limit limit = {0};
	const uint64_t s = 1000000000;
	unsigned left_out = 9;

	CHECK(log_limited(&limit, 5 * s, &left_out));
	CHECK_EQ(left_out, 0u);
	CHECK(!log_limited(&limit, 5 * s + 1, &left_out));
	CHECK(!log_limited(&limit, 6 * s - 1, &left_out));
	CHECK(log_limited(&limit, 6 * s, &left_out));
	CHECK_EQ(left_out, 2u);
	CHECK(log_limited(&limit, 9 * s, &left_out));
	CHECK_EQ(left_out, 0u);
}

int main(void)
{
	const char *const tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s", tmp ? tmp : "/tmp");
	one_write_with_errno_kept();
	a_dead_reader_raises_no_signal();
	a_stuck_reader_is_not_waited_for();
	a_file_is_appended_to();
	a_file_that_cannot_be_written_is_harmless();
	once_a_second_with_a_count();
	return 0;
}
