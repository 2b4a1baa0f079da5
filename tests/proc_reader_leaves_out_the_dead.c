/*
 * A reader sees who is alive and whose children keep the memory, leaves out the dead, and writes
 * nothing; `cuquota ps` says the same.
 */
#include "helper.h"
#include "ledger/account.h"

#include <cuquota/cuquota.h>

#define UUID "GPU-1f2e3d4c-0000-1111-2222-333344445555"
#define GIB (UINT64_C(1) << 30)
#define UNITS_PER_GIB 16384u

static struct segment segment;

struct plan {
	const char *name;
	uint64_t limit, request;
	uint32_t units;
	bool orphan;
};

static int member(void *arg)
{
	static struct member self;
	const struct plan *const plan = arg;
	const struct tenant_wish wish = {plan->name, plan->limit, plan->request,
					 UINT64_C(600000000000)};
	struct tenant_outcome outcome;
	char why[SEGMENT_WHY];
	char byte;

	CHECK_EQ(member_join(&self, &segment, &wish, -1, &outcome, why), 0);
	CHECK_EQ(account_charge(&self, plan->units, NULL), 0);
	if (plan->orphan) {
		/* keeps the hold, as a DataLoader worker keeps the driver's files */
		const pid_t child = fork();

		CHECK_SYS(child);
		if (!child) {
			prctl(PR_SET_PDEATHSIG, 0);
			printf("%d\n", (int)getpid());
			fflush(stdout);
			_exit(read(0, &byte, 1) != 1);
		}
	} else {
		printf("%d\n", (int)getpid());
		fflush(stdout);
	}
	return read(0, &byte, 1) != 1;
}

static struct client start(const struct plan *plan)
{
	struct client client = client_new(NULL, NULL, member, (void *)(uintptr_t)plan);

	CHECK(client_line(&client, DEADLINE_MS) != NULL);
	return client;
}

static void kill_client(const struct client *client)
{
	CHECK_SYS(kill(client->pid, SIGKILL));
	CHECK_SYS(waitpid(client->pid, NULL, 0));
}

static const struct cuquota_tenant_info *find(const struct cuquota_device_info *device,
					      const char *name)
{
	for (uint32_t i = 0; i < device->tenant_count; i++)
		if (!strcmp(device->tenant[i].name, name))
			return &device->tenant[i];
	FAIL("no tenant %s among %u", name, device->tenant_count);
}

static void read_file(const char *path, char *bytes)
{
	const int fd = open(path, O_RDONLY);

	CHECK_SYS(fd);
	CHECK_EQ(read(fd, bytes, CUQUOTA_FILE_BYTES), (ssize_t)CUQUOTA_FILE_BYTES);
	close(fd);
}

static void run_ps(const char *option, char *out, size_t size)
{
	char command[2 * PATH_MAX];
	FILE *stream;
	size_t got;

	snprintf(command, sizeof(command), "LC_ALL=C COLUMNS=140 '%s' ps --all %s",
		 built("cuquota"), option);
	stream = popen(command, "r");
	CHECK(stream != NULL);
	got = fread(out, 1, size - 1, stream);
	out[got] = '\0';
	CHECK_EQ(pclose(stream), 0);
}

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		FAIL("no \"%s\" in:\n%s", part, text);
}

int main(void)
{
	static const struct plan one = {"alice", 4 * GIB, 0, UNITS_PER_GIB, false},
				 two = {"alice", 4 * GIB, 0, 2 * UNITS_PER_GIB, false},
				 gone = {"bob", 8 * GIB, 6 * GIB, 3 * UNITS_PER_GIB, false},
				 ghost = {"carol", CUQUOTA_NONE, 0, UNITS_PER_GIB / 2, true};
	static char before[CUQUOTA_FILE_BYTES], after[CUQUOTA_FILE_BYTES], text[65536];
	const char *const dir = getenv("CUQUOTA_DIR");
	const struct cuquota_snapshot *now;
	const struct cuquota_device_info *device;
	const struct cuquota_tenant_info *alice, *bob, *carol;
	struct cuquota *ledgers;
	struct client client[4];
	char why[SEGMENT_WHY], path[PATH_MAX];

	CHECK(dir != NULL);
	CHECK_EQ(segment_open(&segment, dir, UUID, 24 * GIB, SEGMENT_MEMBER, why), 0);
	client[0] = start(&one);
	client[1] = start(&two);
	client[2] = start(&gone);
	client[3] = start(&ghost);
	kill_client(&client[2]);
	kill_client(&client[3]);

	snprintf(path, sizeof(path), "%s/" UUID ".ledger", dir);
	read_file(path, before);
	CHECK_EQ(cuquota_open(dir, &ledgers), 0);
	CHECK_EQ(cuquota_snapshot(ledgers, &now), 0);
	read_file(path, after);
	CHECK_EQ(memcmp(before, after, sizeof(before)), 0);

	CHECK_EQ(now->device_count, 1u);
	device = &now->device[0];
	CHECK_EQ(device->error, 0);
	CHECK_STR(device->uuid, UUID);
	CHECK_EQ(device->bytes, 24 * GIB);
	CHECK_EQ(device->tenant_count, 3u);
	alice = find(device, "alice");
	CHECK_EQ(alice->member_count, 2u);
	CHECK_EQ(alice->used, 3 * GIB);
	CHECK_EQ(alice->limit, 4 * GIB);
	CHECK_EQ(alice->free, 1 * GIB);
	CHECK_EQ(alice->member[0].pid, (int)client[0].pid);
	CHECK(alice->member[1].life == CUQUOTA_ALIVE);
	/* Its process is dead and its bytes are not shown, but what it was
	 * promised still binds others. */
	bob = find(device, "bob");
	CHECK_EQ(bob->member_count, 0u);
	CHECK_EQ(bob->used, UINT64_C(0));
	CHECK_EQ(bob->promised, 1);
	CHECK_EQ(device->promised, 6 * GIB);
	carol = find(device, "carol");
	CHECK_EQ(carol->member_count, 1u);
	CHECK(carol->member[0].life == CUQUOTA_GHOST);
	CHECK_EQ(carol->used, GIB / 2);
	CHECK_EQ(carol->limit, CUQUOTA_NONE);
	CHECK_EQ(carol->free, 24 * GIB - 6 * GIB - 3 * GIB - GIB / 2);
	CHECK_EQ(device->used, 3 * GIB + GIB / 2);

	run_ps("--json", text, sizeof(text));
	contains(text,
		 "{\"name\":\"alice\",\"limit\":4294967296,\"request\":0,\"used\":3221225472,");
	contains(text, "{\"name\":\"bob\",\"limit\":8589934592,\"request\":6442450944,\"used\":0,");
	contains(text, "{\"name\":\"carol\",\"limit\":null,");
	contains(text, "\"state\":\"ghost\"");
	run_ps("", text, sizeof(text));
	contains(text, "3.5 GiB of   24.0 GiB");
	contains(text, "3.0 GiB of    4.0 GiB");
	contains(text, "children hold this");
	contains(text, "6.0 GiB promised");

	/* Said, not closed: each later child has copies of the earlier ones' pipes. */
	for (unsigned i = 0; i < 4; i++)
		if (i != 2)
			client_say(&client[i], "end");
	CHECK_EQ(client_wait(&client[0], DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&client[1], DEADLINE_MS), 0);
	CHECK(client_line(&client[3], DEADLINE_MS) == NULL);
	cuquota_close(ledgers);
	CHECK_EQ(cuquota_open("/nonexistent", &ledgers), -ENOENT);
	return 0;
}
