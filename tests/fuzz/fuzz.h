/*
 * What every fuzz target shares. A target is a test: tests/fuzz/<kind>_<sentence>.c defines
 * FUZZ_CORPUS and LLVMFuzzerTestOneInput, and `make test` feeds it the files of
 * tests/fuzz/corpus/<FUZZ_CORPUS>, in the order of their names. With FUZZ_LIBFUZZER defined the
 * same file is a fuzzer, and libFuzzer has the main (`make fuzz`).
 *
 * Promises: a property that does not hold ends the process with both values and the input's name;
 * so do a signal and an input that takes over 20 s. A target's state is its own affair: it leaves
 * none behind from input to input, so that one file fails alone as it does among others.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "helper.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_CORPUS
#define FUZZ_CORPUS ""
#endif
#define INPUT_MOST 65536u

/* Between these, code of ours guides no fuzzer: only what is tested does. */
#ifdef FUZZ_LIBFUZZER
#define BLIND no_sanitize("coverage")
#define UNGUIDED _Pragma("clang attribute push(__attribute__((BLIND)), apply_to = function)")
#define GUIDED _Pragma("clang attribute pop")
#else
#define UNGUIDED
#define GUIDED
#endif

static const char *fuzz_input = "(no input)";

/* libFuzzer keeps the input of an abort. */
TEST_USED __attribute__((noreturn, format(printf, 3, 4))) static void
fuzz_fail(const char *file, int line, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(2, "%s:%d: %s: %s\n", file, line, fuzz_input, text);
#ifdef FUZZ_LIBFUZZER
	abort();
#else
	exit(1);
#endif
}
#undef FAIL
#define FAIL(...) fuzz_fail(__FILE__, __LINE__, __VA_ARGS__)

#ifndef FUZZ_LIBFUZZER

static void replay_died(int number)
{
	dprintf(2, "%s: %s\n", fuzz_input,
		number == SIGALRM ? "no end after 20 s" : strsignal(number));
	signal(number, SIG_DFL);
	raise(number);
}

static void replay_file(const char *path)
{
	struct stat info;
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data;

	CHECK_SYS(file);
	CHECK_SYS(fstat(file, &info));
	CHECK_LE(info.st_size, (off_t)INPUT_MOST);
	/* Of exactly its size, so that a sanitizer sees a byte read beyond it. */
	data = malloc((size_t)info.st_size ? (size_t)info.st_size : 1);
	CHECK(data);
	CHECK_EQ(read(file, data, (size_t)info.st_size), (ssize_t)info.st_size);
	close(file);
	fuzz_input = path;
	alarm(20);
	LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
	alarm(0);
	free(data);
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static unsigned replay_folder(const char *folder)
{
	struct dirent **entry;
	const int count = scandir(folder, &entry, is_input, alphasort);

	if (count < 0)
		FAIL("%s: %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		char path[2 * PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
		replay_file(path);
		free(entry[i]);
	}
	free(entry);
	return (unsigned)count;
}

/* Its arguments: folders or files instead of the corpus. */
int main(int argc, char **argv)
{
	static const int deaths[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM};
	const char *const source = getenv("SOURCE");
	char corpus[PATH_MAX];
	unsigned count = 0;

	LLVMFuzzerInitialize(&argc, &argv);
	for (unsigned i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (!getenv("TEST_SANITIZER") || deaths[i] == SIGALRM)
			signal(deaths[i], replay_died);
	snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus/" FUZZ_CORPUS,
		 source ? source : ".");
	for (int i = 1; i < argc || (argc < 2 && i < 2); i++) {
		const char *const path = argc < 2 ? corpus : argv[i];
		struct stat info;

		if (!stat(path, &info) && S_ISREG(info.st_mode)) {
			replay_file(path);
			count++;
		} else {
			count += replay_folder(path);
		}
	}
	printf("%u inputs\n", count);
	if (argc < 2)
		CHECK_GE(count, 20u);
	return 0;
}
#endif

#endif
