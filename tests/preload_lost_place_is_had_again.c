/*
 * The ledger's file is removed under a running program, and for a while no place can be had in the
 * new one, which is said and hurts nobody. Once one can be had, the program stands in the new
 * ledger with all that it holds, and its limit holds on.
 */
#include "client.h"

#include <glob.h>

#define MIB (1ull << 20)
#define HELD (512 * MIB)
#define TRIES 6 /* one a second: more than there are seats of a device */

/* The ledger's path with another ending. */
static const char *path_of(const char *folder, const char *ending)
{
	static char found[PATH_MAX], path[2][PATH_MAX];
	static unsigned turn;
	glob_t all;

	if (!found[0]) {
		snprintf(found, sizeof(found), "%s/GPU-*.ledger", folder);
		CHECK_EQ(glob(found, 0, NULL, &all), 0);
		snprintf(found, sizeof(found), "%s", all.gl_pathv[0]);
		*strrchr(found, '.') = '\0';
		globfree(&all);
	}
	snprintf(path[turn ^= 1], PATH_MAX, "%s%s", found, ending);
	return path[turn];
}

/* More than is ever kept as credit, so that the place is looked after. */
static void churn(void)
{
	CUdeviceptr p;

	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 64 * MIB), CUDA_SUCCESS);
	CHECK_EQ(CU(cuMemFree_v2)(p), CUDA_SUCCESS);
}

/* Lines of the log that hold `words`. */
static unsigned lines_with(const char *words)
{
	FILE *const log = fopen(getenv("CUQUOTA_LOG_FILE"), "re");
	char line[2048];
	unsigned count = 0;

	while (log && fgets(line, sizeof(line), log))
		count += strstr(line, words) != NULL;
	if (log)
		fclose(log);
	return count;
}

static void churn_until(const char *words, unsigned count)
{
	const int64_t until = now_ms() + DEADLINE_MS;

	while (lines_with(words) < count) {
		churn();
		if (now_ms() > until)
			FAIL("\"%s\" was said %u times, want %u", words, lines_with(words), count);
		usleep(20000);
	}
}

int main(int argc, char **argv)
{
	const char *const folder = getenv("CUQUOTA_DIR");
	char log[PATH_MAX];
	const char *const env[] = {"SIMGPU_DEVICES=24G", "SIMGPU_CONTEXT=300M",
				   "CUQUOTA_MEMORY_LIMIT=2G", log, NULL};
	CUdeviceptr held, p;
	size_t used;

	snprintf(log, sizeof(log), "CUQUOTA_LOG_FILE=%s/log", getenv("TMPDIR"));
	start_capped(argv, env);
	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&held, HELD), CUDA_SUCCESS);
	used = total_now() - free_now();
	CHECK_SYS(unlink(path_of(folder, ".ledger")));
	CHECK_SYS(unlink(path_of(folder, ".life.0")));
	CHECK_SYS(symlink("/nowhere", path_of(folder, ".life.0")));
	churn_until("cannot be had again", TRIES);
	CHECK_EQ(total_now() - free_now(), used);
	CHECK_SYS(unlink(path_of(folder, ".life.0")));
	churn_until("joined anew", 1);
	CHECK_EQ(total_now() - free_now(), used);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 2048 * MIB - used + 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(CU(cuMemFree_v2)(held), CUDA_SUCCESS);
	CHECK_EQ(total_now() - free_now(), used - HELD);
	return 0;
}
