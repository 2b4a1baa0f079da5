/*
 * A snapshot as one JSON object. Bytes are plain numbers, a limit that is not set is null, text
 * that is not UTF-8 is replaced, so that every parser takes it.
 */
#include "cli/show.h"

#include <stdio.h>
#include <string.h>

static const char *const families[] = {"linear", "managed", "array", "pool",
				       "vmm", "graph", "context", "module"};
_Static_assert(sizeof(families) / sizeof(*families) == CUQUOTA_FAMILIES, "a name for each family");

/* Length of the UTF-8 sequence at `s`, 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
	const int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0
				     : s[0] < 0xe0	 ? 2
				     : s[0] < 0xf0	 ? 3
				     : s[0] < 0xf5	 ? 4
							 : 0;

	for (int i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void show_string(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putchar('"');
	while (*s) {
		const int length = utf8_length(s);

		if (!length)
			fputs("\\ufffd", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			printf("\\u%04x", *s);
		else
			fwrite(s, 1, (size_t)length, stdout);
		s += length ? length : 1;
	}
	putchar('"');
}

static void put_number(const char *name, uint64_t value)
{
	printf(",\"%s\":%llu", name, (unsigned long long)value);
}

static void put_member(const struct cuquota_member_info *member)
{
	const int pid = show_pid(member);

	printf("{\"pid\":");
	if (pid)
		printf("%d", pid);
	else
		printf("null");
	printf(",\"pid_in_namespace\":%d", member->pid);
	put_number("pid_namespace", member->pid_namespace);
	printf(",\"command\":");
	show_string(member->command);
	printf(",\"state\":\"%s\"", member->life == CUQUOTA_GHOST ? "ghost" : "alive");
	put_number("slot", member->slot);
	put_number("used", member->used);
	put_number("credit", member->credit);
	put_number("peak", member->peak);
	printf(",\"families\":{");
	for (unsigned i = 0; i < CUQUOTA_FAMILIES; i++)
		printf("%s\"%s\":%llu", i ? "," : "", families[i],
		       (unsigned long long)member->family[i]);
	putchar('}');
	put_number("refused_limit", member->refused_limit);
	put_number("refused_guarantee", member->refused_guarantee);
	put_number("refused_driver", member->refused_driver);
	put_number("over", member->over);
	putchar('}');
}

static void put_tenant(const struct cuquota_tenant_info *tenant)
{
	printf("{\"name\":");
	show_string(tenant->name);
	if (tenant->limit == CUQUOTA_NONE)
		printf(",\"limit\":null");
	else
		put_number("limit", tenant->limit);
	put_number("request", tenant->request);
	put_number("used", tenant->used);
	put_number("credit", tenant->credit);
	put_number("free", tenant->free);
	put_number("lent", tenant->lent);
	printf(",\"promised\":%s,\"administered\":%s,\"members\":[",
	       tenant->promised ? "true" : "false", tenant->administered ? "true" : "false");
	for (uint32_t i = 0; i < tenant->member_count; i++) {
		if (i)
			putchar(',');
		put_member(&tenant->member[i]);
	}
	printf("]}");
}

static void put_device(const struct cuquota_device_info *device, const struct show *show)
{
	bool first = true;

	printf("{\"uuid\":");
	show_string(device->uuid);
	if (device->error) {
		printf(",\"error\":");
		show_string(device->why);
		putchar('}');
		return;
	}
	put_number("bytes", device->bytes);
	if (!show->only) {
		put_number("used", device->used);
		put_number("credit", device->credit);
		put_number("promised", device->promised);
	}
	printf(",\"tenants\":[");
	for (uint32_t i = 0; i < device->tenant_count; i++) {
		if (show->only && strcmp(show->only, device->tenant[i].name))
			continue;
		if (!first)
			putchar(',');
		first = false;
		put_tenant(&device->tenant[i]);
	}
	printf("]}");
}

void show_json(const struct cuquota_snapshot *snapshot, const struct show *show)
{
	printf("{\"folder\":");
	show_string(snapshot->folder);
	put_number("taken_ns", snapshot->taken_ns);
	printf(",\"devices\":[");
	for (uint32_t i = 0; i < snapshot->device_count; i++) {
		if (i)
			putchar(',');
		put_device(&snapshot->device[i], show);
	}
	printf("]}\n");
}
