/*
 * A snapshot for people: a bar for each device, tenant and process, as wide as the terminal allows.
 *
 *   GPU-1f2e3d4c-...                  9.5 of 24.0 GiB   6.0 GiB promised
 *     alice          3.5 of  4.0 GiB  [##########################|####    ]
 *       4711 python3 2.0 GiB          [###############]
 *
 * A tenant's bar is its limit (without one, the device); the mark in it is its request.
 */
#include "cli/show.h"

#include "base/size.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 26
#define SIZE_COLUMNS 25
#define BAR_LEAST 10
#define BAR_MOST 60

/* Columns of UTF-8 text: one for each code point, which is right but for wide scripts. */
static int columns_of(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static void put_column(const char *text, int columns, int indent)
{
	const int have = columns_of(text) + indent;

	printf("%*s%s%*s", indent, "", text, have < columns ? columns - have : 1, "");
}

/* Eighths of a cell: a full cell is 8. */
static void put_cell(const struct show *show, int eighths)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

	if (show->unicode)
		fputs(blocks[eighths], stdout);
	else
		putchar(eighths >= 4 ? '#' : ' ');
}

/* `used` of `whole`, with a mark at `mark` (0: none). Anything above 0 shows. */
static void put_bar(const struct show *show, int width, uint64_t used, uint64_t whole,
		    uint64_t mark)
{
	const unsigned __int128 scale = (unsigned __int128)width * 8;
	uint64_t eighths = whole ? (uint64_t)(used * scale / whole) : 0;
	const int mark_cell = mark && mark < whole
				      ? (int)((unsigned __int128)mark * (unsigned)width / whole)
				      : -1;

	if (used && eighths < (show->unicode ? 1 : 4))
		eighths = show->unicode ? 1 : 4;
	fputs(show->unicode ? "▕" : "[", stdout);
	for (int i = 0; i < width; i++) {
		const uint64_t from = (uint64_t)i * 8;

		if (i == mark_cell)
			fputs(show->unicode ? "┃" : "|", stdout);
		else
			put_cell(show, eighths >= from + 8 ? 8
				       : eighths > from	   ? (int)(eighths - from)
							   : 0);
	}
	fputs(show->unicode ? "▏" : "]", stdout);
}

static int bar_width(const struct show *show)
{
	const int width = show->columns - NAME_COLUMNS - SIZE_COLUMNS - 2 - 22;

	return width < BAR_LEAST ? BAR_LEAST : width > BAR_MOST ? BAR_MOST
								: width;
}

/* "3.5 GiB of 4.0 GiB" */
static void put_use(uint64_t used, uint64_t whole)
{
	char a[SIZE_TEXT], b[SIZE_TEXT], both[3 * SIZE_TEXT];

	if (whole == AMOUNT_UNLIMITED)
		snprintf(both, sizeof(both), "%10s", size_format(used, a));
	else
		snprintf(both, sizeof(both), "%10s of %10s", size_format(used, a),
			 size_format(whole, b));
	put_column(both, SIZE_COLUMNS, 0);
}

static void clean(const char *foreign, char *out, size_t size, size_t most)
{
	struct text text;

	text_init(&text, out, size);
	text_add_foreign(&text, foreign, strlen(foreign), most);
}

static void show_member(const struct cuquota_member_info *member, uint64_t whole,
			const struct show *show)
{
	const int pid = show_pid(member);
	char name[96], left[128];

	clean(member->command, name, sizeof(name), sizeof(member->command));
	if (pid)
		snprintf(left, sizeof(left), "%d %s", pid, name);
	else
		snprintf(left, sizeof(left), "%d %s (its own pid)", member->pid, name);
	put_column(left, NAME_COLUMNS, 4);
	put_use(member->used, AMOUNT_UNLIMITED);
	put_bar(show, bar_width(show), member->used, whole, 0);
	if (member->life == CUQUOTA_GHOST)
		printf(" ended, its children hold this");
	putchar('\n');
}

static void show_tenant(const struct cuquota_device_info *device,
			const struct cuquota_tenant_info *tenant, const struct show *show)
{
	const bool limited = tenant->limit != CUQUOTA_NONE;
	const uint64_t whole = limited ? tenant->limit : device->bytes;
	char name[4 * CUQUOTA_NAME], size[SIZE_TEXT];

	clean(tenant->name, name, sizeof(name), NAME_COLUMNS - 6);
	put_column(name, NAME_COLUMNS, 2);
	put_use(tenant->used, tenant->limit);
	put_bar(show, bar_width(show), tenant->used, whole, tenant->request);
	if (tenant->request)
		printf(" %s %s", size_format(tenant->request, size),
		       tenant->promised ? "promised" : "asked for");
	else if (!limited)
		printf(" no limit");
	if (tenant->lent)
		printf(", %s lent", size_format(tenant->lent, size));
	if (!tenant->member_count)
		printf(", nobody there");
	putchar('\n');
	for (uint32_t i = 0; i < tenant->member_count; i++)
		show_member(&tenant->member[i], whole, show);
}

static void show_device(const struct cuquota_device_info *device, const struct show *show)
{
	char size[SIZE_TEXT];

	if (device->error) {
		printf("%s  cannot be read: %s\n", device->uuid, device->why);
		return;
	}
	if (show->only) {
		printf("%s  %s\n", device->uuid, size_format(device->bytes, size));
	} else {
		printf("%s\n", device->uuid);
		put_column("all tenants", NAME_COLUMNS, 2);
		put_use(device->used, device->bytes);
		put_bar(show, bar_width(show), device->used, device->bytes, 0);
		if (device->promised)
			printf(" %s promised", size_format(device->promised, size));
		putchar('\n');
	}
	for (uint32_t i = 0; i < device->tenant_count; i++)
		if (!show->only || !strcmp(show->only, device->tenant[i].name))
			show_tenant(device, &device->tenant[i], show);
}

void show_bars(const struct cuquota_snapshot *snapshot, const struct show *show)
{
	if (!snapshot->device_count)
		printf("no ledger in %s: nobody has used a GPU under cuquota here\n",
		       snapshot->folder);
	for (uint32_t i = 0; i < snapshot->device_count; i++)
		show_device(&snapshot->device[i], show);
}
