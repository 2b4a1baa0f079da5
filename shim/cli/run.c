/*
 * `cuquota run`: set the environment and become the command.
 *
 * Promises: a value that the library would refuse is refused here, by the same parser, before
 * anything starts; what else is preloaded stays preloaded; the library is named once.
 */
#include "cli/cli.h"

#include "base/settings.h"
#include "base/size.h"
#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcuquota.so"
#define SIMULATED_MOST 16 /* cards of the simulated driver */

#define GIVEN 16

struct wish {
	const char *simulate;
	const struct flag *given[GIVEN]; /* that set a variable */
	size_t given_count;
};

/* Would the simulated driver understand it (tests/simgpu/README.md)? If not, it takes
 * cards of its own choice. */
static bool is_cards(const char *text)
{
	struct span rest = span_of(text);
	uint64_t cards = 0;

	while (rest.at) {
		struct span size = span_split(&rest, ',');
		uint64_t count = 1, number;
		struct parse_error error;
		struct amount amount;
		const char *const x = parse_number(size.at, 10, &number);

		if (x && number && *x == 'x') {
			count = number;
			size.length -= (size_t)(x + 1 - size.at);
			size.at = x + 1;
		}
		if (strspn(size.at, "0123456789.kKmMgGtT") < size.length ||
		    size_parse(size, 0, &amount, &error) || amount.value < 64ull << 20 ||
		    amount.value >= 512ull << 30 || count > SIMULATED_MOST)
			return false;
		cards += count;
	}
	return cards <= SIMULATED_MOST;
}

static int take(const struct flag *flag, const char *value, void *context)
{
	struct wish *const wish = context;

	if (!strcmp(flag->name, "wait")) {
		complain("--wait does not exist yet: the command starts at once");
		return 0;
	}
	if (!strcmp(flag->name, "simulate"))
		wish->simulate = value;
	if (!value[0] || !strcmp(value, "--")) {
		complain("--%s needs a value; see `cuquota run --help`", flag->name);
		return -1;
	}
	if (wish->simulate == value && !is_cards(value)) {
		complain("--simulate=%s is not understood; write at most %d cards of 64M to 511G: "
			 "2x24G, or 24G,16G",
			 value, SIMULATED_MOST);
		return -1;
	}
	if (wish->given_count < GIVEN)
		wish->given[wish->given_count++] = flag;
	return setenv(flag->setting, value, 1);
}

/* Finds `name` beside this program or at `elsewhere` from there; `found` gets the whole path. */
static bool find_near(const char *name, const char *elsewhere, char found[PATH_MAX])
{
	char self[PATH_MAX], path[PATH_MAX + 128];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length < 0)
		return false;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, sizeof(path), "%s/%s", self, name);
	if (realpath(path, found))
		return true;
	snprintf(path, sizeof(path), "%s/%s", self, elsewhere);
	return realpath(path, found) != NULL;
}

static bool find_library(char found[PATH_MAX])
{
	const char *const named = getenv("CUQUOTA_LIB");

	if (named && *named) {
		if (realpath(named, found))
			return true;
		complain("CUQUOTA_LIB names %s: %s", named, strerror(errno));
		return false;
	}
	if (find_near(LIBRARY, "../lib/" LIBRARY, found))
		return true;
	complain(LIBRARY
		 " is neither beside this program nor in ../lib; set CUQUOTA_LIB to its path");
	return false;
}

static const char *base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A sanitizer's runtime insists on being the first. */
static bool goes_first(const char *path)
{
	const char *const name = base_name(path);

	return !strncmp(name, "libasan", 7) || !strncmp(name, "libtsan", 7) ||
	       !strncmp(name, "libubsan", 8) || !strncmp(name, "liblsan", 7);
}

static bool is_library(const char *path, const char *library)
{
	char real[PATH_MAX];

	return !strcmp(base_name(path), LIBRARY) ||
	       (realpath(path, real) && !strcmp(real, library));
}

static int set_preload(const char *library)
{
	const char *const old = getenv("LD_PRELOAD");
	const size_t size = strlen(library) + (old ? strlen(old) : 0) + 3;
	char *const rest = strdup(old ? old : ""), *const first = calloc(1, size),
		    *const after = calloc(1, size);
	char *value = NULL, *place = NULL;
	int rc = -1;

	if (!rest || !first || !after)
		goto out;
	for (const char *word = strtok_r(rest, ": ", &place); word;
	     word = strtok_r(NULL, ": ", &place)) {
		char *const list = goes_first(word) ? first : after;

		if (is_library(word, library))
			continue;
		if (list == first) {
			strcat(list, word);
			strcat(list, ":");
		} else {
			strcat(list, ":");
			strcat(list, word);
		}
	}
	if (asprintf(&value, "%s%s%s", first, library, after) < 0)
		goto out;
	rc = setenv("LD_PRELOAD", value, 1);
	free(value);
out:
	free(rest);
	free(first);
	free(after);
	if (rc)
		complain("out of memory");
	return rc;
}

static int set_simulated(void)
{
	const char *const old = getenv("LD_LIBRARY_PATH");
	char folder[PATH_MAX];
	char *value;
	int rc;

	if (!find_near("simgpu", "../lib/cuquota/simgpu", folder)) {
		complain("the simulated driver is neither in simgpu/ beside this program nor in "
			 "../lib/cuquota/simgpu; build it with `make`");
		return -1;
	}
	if (old && *old)
		rc = asprintf(&value, "%s:%s", folder, old);
	else
		rc = asprintf(&value, "%s", folder);
	if (rc < 0)
		return -1;
	rc = setenv("LD_LIBRARY_PATH", value, 1);
	free(value);
	return rc;
}

/* A note under the name that was typed: an option's, where it set the variable. */
static void complain_of(const struct settings_note *note, const struct wish *wish, bool allow)
{
	const int told = (int)(note->told ? note->told : strlen(note->text));
	const int length = (int)note->name;
	const char *name = note->text, *dashes = "";
	int named = length;

	for (size_t i = 0; i < wish->given_count; i++) {
		const struct flag *const flag = wish->given[i];

		if (strlen(flag->setting) != note->name ||
		    strncmp(flag->setting, note->text, note->name))
			continue;
		dashes = "--";
		name = flag->name;
		named = (int)strlen(name);
	}
	if (allow) /* The library gives the reason. */
		complain("CUQUOTA_ON_ERROR=allow: the command runs WITHOUT a limit, as %s%.*s is "
			 "refused; the reason is told where it uses the GPU",
			 dashes, named, name);
	else
		complain("%s%.*s%.*s", dashes, named, name, told - length, note->text + length);
}

/* What the library would say of these settings. */
static int check_settings(const struct wish *wish)
{
	static struct settings settings;
	const struct settings_source source = {(const char *const *)environ, ""};
	bool mistaken = false;

	settings_parse(&source, &settings);
	for (unsigned i = 0; i < settings.notes; i++) {
		if (settings.note[i].level != LOG_ERROR)
			continue;
		complain_of(&settings.note[i], wish, settings.on_error == ON_ERROR_ALLOW);
		mistaken = true;
	}
	if (settings.disable)
		complain("CUQUOTA_DISABLE is set: the command runs without a limit");
	return mistaken && settings.on_error == ON_ERROR_DENY ? -1 : 0;
}

/* 1: an ELF program without an interpreter, into which nothing can be preloaded. */
static bool is_static(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	bool interpreted = false, elf;

	if (fd < 0)
		return false;
	elf = read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
	      !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64;
	for (unsigned i = 0; elf && i < header.e_phnum; i++) {
		Elf64_Phdr part;

		if (pread(fd, &part, sizeof(part), (off_t)(header.e_phoff + i * sizeof(part))) !=
		    (ssize_t)sizeof(part))
			break;
		interpreted |= part.p_type == PT_INTERP;
	}
	close(fd);
	return elf && !interpreted;
}

static bool find_program(const char *name, char found[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(found, PATH_MAX, "%s", name) < PATH_MAX;
	for (path = path ? path : "/bin:/usr/bin"; *path;
	     path += strcspn(path, ":"), path += *path == ':') {
		const int length = (int)strcspn(path, ":");

		if (snprintf(found, PATH_MAX, "%.*s/%s", length, path, name) < PATH_MAX &&
		    !access(found, X_OK))
			return true;
	}
	return false;
}

int command_run(int argc, char **argv)
{
	struct wish wish = {0};
	char library[PATH_MAX], program[PATH_MAX];
	const int first = flags_parse(argc, argv, take, &wish);

	if (first < 0)
		return first == -2 ? 0 : STATUS_USAGE;
	if (first == argc) {
		complain(
			"which command? as in `cuquota run --memory-limit 8G -- python3 train.py`");
		return STATUS_USAGE;
	}
	if (check_settings(&wish))
		return STATUS_USAGE;
	if (!find_library(library))
		return STATUS_ERROR;
	if (strpbrk(library, ": ")) {
		complain("%s cannot be preloaded: LD_PRELOAD knows no way to write a colon or a "
			 "space; move it",
			 library);
		return STATUS_ERROR;
	}
	if (wish.simulate && set_simulated())
		return STATUS_ERROR;
	if (set_preload(library))
		return STATUS_ERROR;
	if (find_program(argv[first], program) && is_static(program))
		complain("%s is statically linked: nothing can be preloaded into it, so NO limit "
			 "holds for it",
			 argv[first]);
	execvp(argv[first], argv + first);
	complain("cannot start %s: %s", argv[first], strerror(errno));
	return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_START;
}
