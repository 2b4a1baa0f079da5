/*
 * Looking at a ledger of any bytes: the reading API and both forms in which the command shows it,
 * with every figure checked against its bounds; and the rules of admission summed anew in 128 bits.
 * Included by the ledger's fuzz target.
 */
#ifndef TESTS_FUZZ_PROC_LOOK_H
#define TESTS_FUZZ_PROC_LOOK_H

#include "proc_world.h"

#include "cli/show.h"

#include <ctype.h>
#include <cuquota/cuquota.h>

UNGUIDED

/* The command would look through /proc. */
int show_pid(const struct cuquota_member_info *member)
{
	return member->pid_namespace % 2 ? member->pid : 0;
}

/* ---- JSON ---- */

static const char *json_value(const char *at, unsigned depth);

static const char *json_string(const char *at)
{
	for (at++; *at != '"'; at++) {
		if ((unsigned char)*at < ' ')
			FAIL("JSON: %s",
			     *at ? "a control character in a string" : "a string without end");
		if (*at == '\\')
			at++;
		if (at[-1] == '\\' && !strchr("\"\\u", *at))
			FAIL("JSON: \\%c", *at);
	}
	return at + 1;
}

static const char *json_list(const char *at, char end, unsigned depth)
{
	if (*++at == end)
		return at + 1;
	for (;; at++) {
		if (end == '}') {
			CHECK_EQ(*at, '"');
			at = json_string(at);
			CHECK_EQ(*at, ':');
			at++;
		}
		at = json_value(at, depth + 1);
		if (*at == end)
			return at + 1;
		CHECK_EQ(*at, ',');
	}
}

static const char *json_value(const char *at, unsigned depth)
{
	CHECK_LE(depth, 12u);
	if (*at == '"')
		return json_string(at);
	if (*at == '{' || *at == '[')
		return json_list(at, *at == '{' ? '}' : ']', depth);
	for (const char *const *word = (const char *const[]){"null", "true", "false", NULL}; *word;
	     word++)
		if (!strncmp(at, *word, strlen(*word)))
			return at + strlen(*word);
	at += *at == '-';
	if (!isdigit((unsigned char)*at))
		FAIL("JSON: no value at \"%.20s\"", at);
	return at + strspn(at, "0123456789");
}

static void check_json(const char *text)
{
	CHECK_STR(json_value(text, 0), "\n");
}

/* Nothing that a terminal would obey. */
static void check_text(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n') || *text == 0x7f)
			FAIL("a control character is shown: %#x", (unsigned char)*text);
}

static void show(const struct cuquota_snapshot *snapshot, bool json)
{
	const struct show how = {json ? NULL : "alice", 80, !json};
	const struct show all = {NULL, 200, false};
	FILE *const kept = stdout;
	size_t bytes = 0;
	char *text = NULL;

	stdout = open_memstream(&text, &bytes);
	CHECK(stdout);
	if (json) {
		show_json(snapshot, &how);
	} else {
		show_bars(snapshot, &how);
		show_bars(snapshot, &all);
	}
	fclose(stdout);
	stdout = kept;
	CHECK_EQ(strlen(text), bytes);
	if (json)
		check_json(text);
	else
		check_text(text);
	free(text);
}

/* ---- the snapshot ---- */

#define TERMINATED(text) CHECK(memchr((text), 0, sizeof(text)))

static void check_tenant(const struct cuquota_device_info *device,
			 const struct cuquota_tenant_info *tenant)
{
	uint64_t used = 0, credit = 0;

	TERMINATED(tenant->name);
	CHECK_LE(tenant->free, device->bytes);
	if (tenant->limit != CUQUOTA_NONE)
		CHECK_LE(tenant->free, tenant->limit);
	CHECK_LE(tenant->lent, tenant->request);
	CHECK(tenant->administered <= 1 && tenant->promised <= 1);
	for (uint32_t i = 0; i < tenant->member_count; i++) {
		const struct cuquota_member_info *const member = &tenant->member[i];

		TERMINATED(member->command);
		CHECK(member->life == CUQUOTA_ALIVE || member->life == CUQUOTA_GHOST);
		CHECK(i == 0 || member->slot > member[-1].slot);
		used += member->used;
		credit += member->credit;
	}
	CHECK_EQ(tenant->used, used);
	CHECK_EQ(tenant->credit, credit);
}

static void check_device(const struct cuquota_device_info *device)
{
	uint64_t used = 0;

	CHECK_STR(device->uuid, UUID);
	if (device->error) {
		TERMINATED(device->why);
		CHECK(strlen(device->why) > 20);
		CHECK_EQ(device->tenant_count, 0u);
		return;
	}
	for (uint32_t i = 0; i < device->tenant_count; i++) {
		check_tenant(device, &device->tenant[i]);
		used += device->tenant[i].used;
	}
	CHECK_EQ(device->used, used);
}

static void look(const char *folder)
{
	const struct cuquota_snapshot *snapshot;
	struct cuquota *ledgers;

	CHECK_EQ(cuquota_open(folder, &ledgers), 0);
	CHECK_EQ(cuquota_snapshot(ledgers, &snapshot), 0);
	CHECK_LE(snapshot->device_count, 1u);
	for (uint32_t i = 0; i < snapshot->device_count; i++)
		check_device(&snapshot->device[i]);
	show(snapshot, true);
	show(snapshot, false);
	/* The same handle again: what the first look got is freed. */
	CHECK_EQ(cuquota_snapshot(ledgers, &snapshot), 0);
	cuquota_close(ledgers);
	CHECK(strlen(cuquota_strerror(-EPROTO)) > 3);
}

/* ---- the rules, as shim/README.md has them ---- */

struct rules {
	uint64_t limit, request, used; /* used: units, charged and credit */
	unsigned __int128 device, others;
	bool within;
};

static void rules_read(const struct segment *segment, uint32_t tenant, struct rules *rules)
{
	static uint64_t used[4096];
	static bool present[4096];
	const uint32_t tenants = segment->tenant_count < 4096 ? segment->tenant_count : 4096;
	const struct cuquota_tenant *const own = segment_tenant(segment, tenant);
	unsigned __int128 bytes;

	memset(used, 0, sizeof(used));
	memset(present, 0, sizeof(present));
	for (uint32_t i = 0; i < segment_high(segment); i++) {
		const struct cuquota_slot *const slot = segment_slot(segment, i);

		if (slot->state != CUQUOTA_USED || slot->tenant >= tenants)
			continue;
		/* Of its own tenant's slots a grow looks at those in the tenant's map; a member
		 * sets its bit first. */
		if (segment->map_words && (slot->tenant == tenant || !segment->header->requests) &&
		    !(segment_map(segment, slot->tenant)[i / 64] >> i % 64 & 1))
			continue;
		used[slot->tenant] +=
			(uint64_t)CUQUOTA_CHARGED(slot->word) + CUQUOTA_CREDIT(slot->word);
		present[slot->tenant] = true;
	}
	*rules = (struct rules){
		own->limit, own->request, used[tenant], segment->header->device_bytes, 0, false};
	for (uint32_t i = 0; i < tenants && i < segment_tenants_high(segment); i++) {
		const struct cuquota_tenant *const record = segment_tenant(segment, i);
		unsigned __int128 held = (unsigned __int128)used[i] * CUQUOTA_UNIT;

		if (i == tenant)
			continue;
		if (record->state == CUQUOTA_USED &&
		    (present[i] || tenant_is_kept(segment, i, world_now)) && record->request > held)
			held = record->request;
		rules->others += held;
	}
	bytes = (unsigned __int128)rules->used * CUQUOTA_UNIT;
	rules->within = bytes <= rules->limit || rules->limit / CUQUOTA_UNIT >= rules->used;
	if (segment->header->requests && bytes > rules->request &&
	    rules->others + bytes > rules->device)
		rules->within = false;
}

GUIDED

#endif
