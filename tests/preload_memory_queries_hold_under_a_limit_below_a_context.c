/*
 * report: WN-07
 * Contexts take 300 MiB, and the limit is 1, 64, 299, 300 or 301 MiB: by either call, and whether
 * or not it is known yet what a context takes, one is made where it fits and else refused as out of
 * memory. Whoever has one, also from before the limit came, is told its memory, and NVML tells
 * everybody: the limit, and no more of it free than there is. Nothing ever fails by another code.
 * A limit that is written as 1 MiB is refused at the start, so that one comes as a percentage.
 */
#include "surfaces.h"

#include <sys/stat.h>

#define MIB (1ull << 20)

/* All doors agree, which is checked there. Used at least so much of the limit. */
static void shown(nvmlDevice_t handle, unsigned long long limit, unsigned long long used)
{
	const struct surface all = surface_all(0, handle);

	CHECK_EQ(all.total, limit);
	CHECK_LE(all.free, limit - used);
}

static CUresult make(CUcontext *context, bool primary)
{
	CUresult rc;

	if (!primary)
		return CU(cuCtxCreate_v2)(context, 0, 0);
	rc = CU(cuDevicePrimaryCtxRetain)(context, 0);
	return rc == CUDA_SUCCESS ? CU(cuCtxSetCurrent)(*context) : rc;
}

static int newcomer(unsigned long long limit, bool primary, bool fits)
{
	const nvmlDevice_t handle = surface_handle(0);
	size_t free_bytes = 0, total = 0;
	CUcontext context;

	CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(surface_nvml(handle).total, limit);
		surface_total(0, limit);
		if (fits)
			continue;
		CHECK_EQ(make(&context, primary), CUDA_ERROR_OUT_OF_MEMORY);
		/* As the driver has it of a thread without context. */
		CHECK_EQ(CU(cuMemGetInfo_v2)(&free_bytes, &total), CUDA_ERROR_INVALID_CONTEXT);
	}
	if (!fits)
		return 0;
	CHECK_EQ(make(&context, primary), CUDA_SUCCESS);
	shown(handle, limit, 300 * MIB);
	return 0;
}

/* Had a context when the limit came. */
static int early(unsigned long long limit)
{
	const nvmlDevice_t handle = surface_handle(0);
	char line[16];

	context_now(0);
	printf("ready\n");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin) != NULL);
	shown(handle, limit, limit < 300 * MIB ? limit : 300 * MIB);
	return 0;
}

static int refused(void)
{
	size_t free_bytes = 0, total = 0;

	CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(CU(cuMemGetInfo_v2)(&free_bytes, &total), CUDA_ERROR_NOT_INITIALIZED);
	return 0;
}

static struct client start(const char *who, unsigned mib)
{
	char setting[64], text[16];
	const char *const env[] = {setting, "CUQUOTA_LOG=off", NULL};
	const char *const self[] = {"/proc/self/exe", who, text, NULL};

	snprintf(text, sizeof(text), "%u", mib);
	snprintf(setting, sizeof(setting), "CUQUOTA_MEMORY_LIMIT=%uM",
		 strcmp(who, "early") ? mib : 1024);
	if (mib == 1 && strcmp(who, "early") && strcmp(who, "refused"))
		strcpy(setting, "CUQUOTA_MEMORY_LIMIT=0.005%"); /* 1.2 MiB, rounded down */
	return client_capped(self, env);
}

static void expect(unsigned mib, const char *who)
{
	struct client c = start(who, mib);

	if (client_wait(&c, DEADLINE_MS))
		FAIL("%s, limit %u MiB", who, mib);
}

/* What a context takes is not known in a ledger that is new. */
static void new_ledger(const char *folders, unsigned mib, const char *who)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/%u-%s", folders, mib, who);
	CHECK_SYS(mkdir(folder, 0755));
	setenv("CUQUOTA_DIR", folder, 1);
}

static void at(const char *folders, unsigned mib)
{
	struct client c;

	for (int primary = 0; primary < 2; primary++) {
		const char *const who = primary ? "primary" : "create";

		new_ledger(folders, mib, who);
		expect(mib, who);
		expect(mib, who);
	}
	new_ledger(folders, mib, "early");
	c = start("early", mib);
	CLIENT_SAYS(&c, "ready");
	expect(mib, "beside");
	client_say(&c, "show");
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	static const unsigned limits[] = {1, 64, 299, 300, 301};
	const char *const folders = strdup(getenv("CUQUOTA_DIR"));
	const unsigned long long limit = argc > 2 ? strtoull(argv[2], NULL, 10) * MIB : 0;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "300M", 1);
	setenv("CUQUOTA_TENANT", "t", 1);
	if (argc > 2)
		return !strcmp(argv[1], "refused") ? refused()
		       : !strcmp(argv[1], "early")
			       ? early(limit)
			       : newcomer(limit, strcmp(argv[1], "create"),
					  strcmp(argv[1], "beside") && limit >= 300 * MIB);
	expect(1, "refused");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		at(folders, limits[i]);
	return 0;
}
