/*
 * Is the library in the programs that start from here, and if not, why: what LD_PRELOAD and
 * /etc/ld.so.preload name is looked at as the loader does.
 */
#include "cli/doctor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_WIDE "/etc/ld.so.preload"
#define WAY_OUT \
	"set LD_PRELOAD to the whole path of libcuquota.so, or start programs by `cuquota run`"
#define HOLDS "libcuquota"

static const char *last_part(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The header of a file of this very machine. */
static bool own_header(Elf64_Ehdr *header)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const bool whole = fd >= 0 && read(fd, header, sizeof(*header)) == (ssize_t)sizeof(*header);

	if (fd >= 0)
		close(fd);
	return whole;
}

/* Why the loader does not take this file; NULL: nothing is seen against it. */
static const char *fault_of(const char *path)
{
	static char text[128];
	Elf64_Ehdr header, own;
	struct stat info;
	ssize_t got;
	int fd;

	if (!strchr(path, '/'))
		return NULL; /* the loader searches for it */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(text, sizeof(text), "cannot be opened: %s", strerror(errno));
		return errno == ENOENT ? "is not there" : text;
	}
	memset(&header, 0, sizeof(header));
	if (fstat(fd, &info) || S_ISDIR(info.st_mode)) {
		close(fd);
		return "is a folder";
	}
	got = read(fd, &header, sizeof(header));
	close(fd);
	if (!got)
		return "is empty";
	if (got < (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return "is no shared library";
	if (!own_header(&own))
		return NULL;
	if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS])
		return "is for programs of another word size (32 or 64 bits)";
	if (header.e_ident[EI_DATA] != own.e_ident[EI_DATA] || header.e_machine != own.e_machine) {
		snprintf(text, sizeof(text),
			 "is for another architecture (ELF machine %u, here %u)", header.e_machine,
			 own.e_machine);
		return text;
	}
	return NULL;
}

/* The entry of a list that is meant to be ours: by its name, else the first that is broken. */
static bool pick(const char *list, char entry[PATH_MAX])
{
	bool any = false;

	while (*(list += strspn(list, ": \t\n"))) {
		const size_t length = strcspn(list, ": \t\n");
		char word[PATH_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)length, list);
		list += length;
		if (strstr(word, "cuquota") || (!any && fault_of(word))) {
			any = true;
			strcpy(entry, word);
			if (strstr(word, "cuquota"))
				return true;
		}
	}
	return any;
}

static bool holds(const char *path, const char *word)
{
	char line[1024];
	FILE *const file = fopen(path, "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = line[strspn(line, " \t")] != '#' && strstr(line, word);
	if (file)
		fclose(file);
	return found;
}

/* A file that only some shells read, and that names the library; NULL: none does. */
static const char *shell_file(void)
{
	static const char *const names[] = {".bashrc", ".bash_profile", ".profile", ".zshrc"};
	static char path[PATH_MAX];
	const char *const home = getenv("HOME");

	for (size_t i = 0; home && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", home, names[i]);
		if (holds(path, HOLDS))
			return path;
	}
	return holds("/etc/bash.bashrc", HOLDS) ? "/etc/bash.bashrc" : NULL;
}

static void report_missing(const struct answer *here)
{
	const char *const list = getenv("LD_PRELOAD"), *const shell = shell_file();
	char entry[PATH_MAX];
	const char *fault;

	if (shell && !(list && strstr(list, "cuquota"))) {
		report(VERDICT_WRONG, "preload",
		       "the library is not in the programs that start from here: %s names it, "
		       "which only "
		       "some shells read; put LD_PRELOAD where the container or service is defined "
		       "(ENV "
		       "in a Dockerfile)",
		       shell);
		return;
	}
	if (!list || !*list) {
		report(VERDICT_WRONG, "preload",
		       "the library is not in the programs that start from here: LD_PRELOAD is not "
		       "set; " WAY_OUT);
		return;
	}
	if (!pick(list, entry)) {
		report(VERDICT_WRONG, "preload",
		       "the library is not in the programs that start from here: LD_PRELOAD=%s "
		       "does "
		       "not name it; " WAY_OUT,
		       list);
		return;
	}
	fault = fault_of(entry);
	if (fault)
		report(VERDICT_WRONG, "preload",
		       "the library is not in the programs that start from here: %s, which "
		       "LD_PRELOAD "
		       "names, %s; " WAY_OUT,
		       entry, fault);
	else
		report(VERDICT_WRONG, "preload",
		       "the library is not in the programs that start from here: %s, which "
		       "LD_PRELOAD "
		       "names, is not taken by the loader or is not this library (%s); " WAY_OUT,
		       entry, *here->said ? here->said : "it does not say why");
}

/* Programs must find our dlsym and its fellows first. */
static void report_fronts(const struct answer *here)
{
	static const char *const names[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
	unsigned right = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char words[64];
		const char *path;

		snprintf(words, sizeof(words), "front %s theirs ", names[i]);
		path = answer_find(here, words);
		if (path)
			report(VERDICT_WRONG, "front",
			       "%s in programs leads to %s, not to the library; where another "
			       "library "
			       "in LD_PRELOAD has one of its own, name libcuquota.so before it, "
			       "else "
			       "install a whole libcuquota.so of this release",
			       names[i], last_part(path));
		right += !path;
	}
	if (right == sizeof(names) / sizeof(*names))
		report(VERDICT_OK, "front",
		       "dlsym, dlvsym, dlopen and dlmopen of programs lead to the library");
}

bool preload_check(const struct truth *truth)
{
	static struct answer here;
	const char *loaded, *shell;
	bool there;

	child_ask(&here, "here", NULL, NULL);
	loaded = answer_find(&here, "loaded ");
	there = loaded != NULL;
	if (!answer_find(&here, "end")) {
		report(VERDICT_UNCHECKED, "preload", "programs do not start from here: %s; %s",
		       here.end, here.said);
	} else if (!loaded) {
		report_missing(&here);
	} else {
		report(VERDICT_OK, "preload",
		       "the library is in the programs that start from here: %s", loaded);
		report_fronts(&here);
	}
	if (there && !holds(SYSTEM_WIDE, HOLDS))
		report(VERDICT_NOTE, "preload-reach",
		       "it comes by LD_PRELOAD: programs that start with a clean environment "
		       "(sshd, su, "
		       "sudo, cron, env -i) do not get it; " SYSTEM_WIDE " reaches those too");
	shell = there ? shell_file() : NULL;
	if (shell)
		report(VERDICT_NOTE, "preload-shell",
		       "%s names it: programs that no such shell started do not get it", shell);
	if (there && truth->settings.disable) {
		report(VERDICT_WRONG, "disable",
		       "the library stands aside, as CUQUOTA_DISABLE is set; take it out");
		there = false;
	}
	child_forget(&here);
	return there;
}
