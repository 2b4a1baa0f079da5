/*
 * `cuquota ps`: who holds how much.
 */
#include "cli/cli.h"
#include "cli/show.h"

#include "base/identity.h"
#include "base/pids.h"
#include "base/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct wish {
	bool json;
	bool all;
};

static int take(const struct flag *flag, const char *value, void *context)
{
	struct wish *const wish = context;

	if (!strcmp(flag->name, "json"))
		wish->json = true;
	else
		wish->all = true;
	return 0;
}

static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *const value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* 0 for what is no number. */
static int number_of(const char *text)
{
	uint64_t value;

	return parse_number(text, 10, &value) && value <= INT_MAX ? (int)value : 0;
}

static int terminal_columns(void)
{
	const char *const columns = getenv("COLUMNS");
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return columns && number_of(columns) > 0 ? number_of(columns) : 100;
}

int show_pid(const struct cuquota_member_info *member)
{
	const uint64_t own = pids_namespace();

	return !own || member->pid_namespace == own ? member->pid
						    : pids_find(member->pid, member->pid_namespace);
}

static bool owns(const char *folder)
{
	struct stat info;

	return !geteuid() || (!stat(folder, &info) && info.st_uid == geteuid());
}

static struct settings told;

static const char *own_tenant(void)
{
	static char name[IDENTITY_NAME];
	if (told.tenant[0])
		return told.tenant;
	identity_derive(&identity_proc, name);
	return name;
}

/* What the environment says, of which the folder and the tenant matter here. False, said: a folder
 * was named and is refused, and another one's ledgers are no answer. */
static bool read_settings(void)
{
	const struct settings_source source = {(const char *const *)environ, ""};
	const char *const named = getenv("CUQUOTA_DIR");

	settings_parse(&source, &told);
	log_setup(told.log_level, told.log_file);
	for (unsigned i = 0; i < told.notes && !told.dir[0] && named && *named; i++) {
		const struct settings_note *const note = &told.note[i];

		if (strncmp(note->text, "CUQUOTA_DIR=", 12) || !note->told)
			continue;
		complain("%.*s", (int)note->told, note->text);
		return false;
	}
	return true;
}

/* What is shown is not all there is. */
static bool complain_of_unreadable(const struct cuquota_snapshot *snapshot, const char *folder)
{
	bool any = false;

	for (uint32_t i = 0; i < snapshot->device_count; i++) {
		const struct cuquota_device_info *const device = &snapshot->device[i];

		if (!device->error)
			continue;
		any = true;
		complain("%s/%s.ledger cannot be read, and what its card is used for is missing "
			 "here: %s",
			 folder, device->uuid, device->why);
	}
	return any;
}

int command_ps(int argc, char **argv)
{
	const struct cuquota_snapshot *snapshot;
	struct cuquota *ledgers;
	struct wish wish = {0};
	struct show show;
	const char *folder;
	int rc = flags_parse(argc, argv, take, &wish);

	if (rc < 0)
		return rc == -2 ? 0 : STATUS_USAGE;
	if (rc < argc) {
		complain("ps takes no operand such as %s; see `cuquota ps --help`", argv[rc]);
		return STATUS_USAGE;
	}
	if (!read_settings())
		return STATUS_USAGE;
	folder = settings_folder(&told);
	if (wish.all && !owns(folder)) {
		complain("--all is for root or the owner of %s", folder);
		return STATUS_ERROR;
	}
	show = (struct show){
		.only = wish.all || (owns(folder) && !identity_in_container(&identity_proc))
				? NULL
				: own_tenant(),
		.columns = terminal_columns(),
		.unicode = locale_is_utf8(),
	};
	rc = cuquota_open(folder, &ledgers);
	if (!rc)
		rc = cuquota_snapshot(ledgers, &snapshot);
	if (rc) {
		complain("%s: %s; nothing was started under cuquota yet, or CUQUOTA_DIR names "
			 "another folder",
			 folder, cuquota_strerror(rc));
		return STATUS_ERROR;
	}
	if (wish.json)
		show_json(snapshot, &show);
	else
		show_bars(snapshot, &show);
	rc = fflush(stdout) || ferror(stdout) ? STATUS_ERROR : 0;
	if (complain_of_unreadable(snapshot, folder))
		rc = STATUS_ERROR;
	cuquota_close(ledgers);
	return rc;
}
