/*
 * A reader (ps, an exporter) sums, tests who lives and looks at rules, also where a member has
 * died, and nothing in the folder changes: no file is made, no byte of the ledger written. Where
 * there is no ledger it says so and makes none.
 */
#include "proc_helper.h"

static uint64_t print_of_folder(void)
{
	DIR *const dir = opendir(world.dir);
	uint64_t print = 0;
	struct dirent *e;
	struct stat s;

	CHECK(dir);
	while ((e = readdir(dir))) {
		CHECK_SYS(fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW));
		if (strcmp(e->d_name, "..")) /* in any order */
			print += (s.st_ino * 31 + (uint64_t)s.st_mtim.tv_nsec * 7 +
				  (uint64_t)s.st_mtim.tv_sec + (uint64_t)s.st_size) *
				 0x9e3779b97f4a7c15ull;
	}
	closedir(dir);
	return print;
}

int main(int argc, char **argv)
{
	char why[SEGMENT_WHY], life[300];
	struct account_use use;
	struct segment reader;
	struct worker *one, *two;
	uint64_t before;
	uint8_t *copy;

	workers_enter(argc, argv, NULL);
	world_start(BYTES(4 * GIB), 20);
	CHECK_EQ(segment_open(&reader, world.dir, world.uuid, world.device_bytes, SEGMENT_READER,
			      why),
		 -ENOENT);
	CHECK_EQ(access(world.dir, F_OK), -1);
	CHECK_SYS(mkdir(world.dir, 0777));
	CHECK_EQ(segment_open(&reader, world.dir, world.uuid, world.device_bytes, SEGMENT_READER,
			      why),
		 -ENOENT);
	CHECK_EQ(access(ledger_path(), F_OK), -1);
	CHECK_SYS(rmdir(world.dir));

	one = worker_joined("a", BYTES(GIB), BYTES(MIB));
	two = worker_joined("a", BYTES(GIB), BYTES(MIB));
	CHECK_EQ(worker_charge(one, 100 * MIB), 0);
	CHECK_EQ(worker_charge(two, 200 * MIB), 0);
	worker_kill(two);
	copy = malloc(ledger()->bytes);
	CHECK(copy);
	memcpy(copy, ledger()->header, ledger()->bytes);
	before = print_of_folder();
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(account_use(ledger(), one->tenant, &use), 0);
		CHECK_EQ(use.charged, BYTES(300 * MIB));
		CHECK_EQ(ledger_life(two->slot), LIFE_DEAD);
		CHECK_EQ(ledger_life(70), LIFE_DEAD); /* of a group whose file nobody has made */
		CHECK_EQ(ledger_life(one->slot), round ? LIFE_DEAD : LIFE_ALIVE);
		CHECK_EQ(member_sweep_now(ledger()), 0u);
		CHECK_EQ(member_sweep(ledger(), now_ns(), UINT64_MAX), 0u);
		CHECK_GE(tenant_find(ledger(), "a"), 0);
		CHECK(tenant_is_promised(ledger(), one->tenant, now_ns()));
		CHECK_EQ(print_of_folder(), before);
		CHECK_EQ(memcmp(copy, ledger()->header, ledger()->bytes), 0);
		/* Once more with the lock files gone: a reader that finds none makes none. */
		snprintf(life, sizeof(life), "%s/%s.life.0", world.dir, world.uuid);
		if (!round)
			CHECK_SYS(unlink(life));
		before = print_of_folder();
	}
	free(copy);
	return 0;
}
