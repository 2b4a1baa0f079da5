/*
 * report: WN-01
 * A tenant holds 3 GiB, and its next program brings a limit of 2 GiB: while the holder lives, and
 * when it was killed and its forked child keeps the memory. All that is shown is of 2 GiB: in use
 * to the last byte, nothing free, no figure below 0, and the next allocation is refused.
 */
#include "nvml_lists.h"
#include "surfaces.h"

#define GIB (1ull << 30)

/* Goes line by line: "show" prints what it is shown. */
static int hold(bool with_child)
{
	const nvmlDevice_t handle = surface_handle(0);
	struct surface shown;
	char line[16];
	CUdeviceptr p;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 3 * GIB), CUDA_SUCCESS);
	if (with_child && !fork()) {
		prctl(PR_SET_PDEATHSIG, 0);
		/* Until the test closes its end. */
		while (fgets(line, sizeof(line), stdin))
			;
		_exit(0);
	}
	printf("ready\n");
	fflush(stdout);
	while (with_child)
		pause();
	while (fgets(line, sizeof(line), stdin)) {
		shown = surface_all(0, handle);
		CHECK_EQ(CU(cuMemAlloc_v2)(&p, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
		printf("%llu %llu %llu\n", shown.total, shown.free, shown.used);
		fflush(stdout);
	}
	return 0;
}

/* Of NVML before the start of CUDA, of the joined process, and what it gets. */
static int newcomer(unsigned holder)
{
	const nvmlDevice_t handle = surface_handle(0);
	struct listed listed;
	CUcontext context;

	for (int joined = 0; joined < 2; joined++) {
		const struct surface shown = surface_nvml(handle);

		CHECK_EQ(shown.total, 2 * GIB);
		CHECK_EQ(shown.used, 2 * GIB);
		CHECK_EQ(shown.free, 0ull);
		list_read(LIST_V3, handle, &listed);
		CHECK_EQ(listed.count, 1u);
		CHECK_EQ(listed_bytes(&listed, holder), 3 * GIB + (302ull << 20));
		CHECK_EQ(CU(cuInit)(0), CUDA_SUCCESS);
	}
	surface_total(0, 2 * GIB);
	CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
	return 0;
}

static void come(pid_t holder)
{
	char pid[16];
	const char *const self[] = {"/proc/self/exe", "newcomer", pid, NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=2G", NULL};
	struct client c;

	snprintf(pid, sizeof(pid), "%d", (int)holder);
	c = client_capped(self, env);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "hold", NULL};
	const char *const parent[] = {"/proc/self/exe", "parent", NULL};
	const char *const env[] = {"CUQUOTA_MEMORY_LIMIT=4G", NULL};
	char want[64];
	struct client c;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "300M", 1);
	setenv("CUQUOTA_TENANT", "t", 1);
	if (argc > 2)
		return newcomer((unsigned)atoi(argv[2]));
	if (argc > 1)
		return hold(!strcmp(argv[1], "parent"));
	c = client_capped(self, env);
	CLIENT_SAYS(&c, "ready");
	come(c.pid);
	client_say(&c, "show");
	snprintf(want, sizeof(want), "%llu 0 %llu", 2 * GIB, 2 * GIB);
	CLIENT_SAYS(&c, want);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	c = client_capped(parent, env);
	CLIENT_SAYS(&c, "ready");
	client_kill(&c, SIGKILL);
	while (waitpid(c.pid, NULL, WNOHANG) == 0)
		usleep(500);
	come(c.pid);
	close(c.to);
	CHECK(!client_line(&c, DEADLINE_MS)); /* the child has ended too */
	return 0;
}
