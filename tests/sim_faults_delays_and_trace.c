/*
 * SIMGPU_FAULT fails the calls that it names and leaves the card as it was; SIMGPU_DELAY makes a
 * call last; SIMGPU_TRACE has a line for each call, stubs too.
 */
#include "sim_driver.h"

static int body(void *arg)
{
	CUdeviceptr p[8];
	int64_t start;
	CUcontext c;
	int i;

	setenv("SIMGPU_FAULT",
	       "cuMemAlloc_v2@2:999,cuMemAlloc_v2@4-5:2,cuMemFree_v2@1:700,"
	       "cuCtxSynchronize@*:719,cuCtxCreate_v2@2+:2",
	       1);
	setenv("SIMGPU_DELAY", "cuMemFree_v2:20ms,cuCtxSynchronize:1us,cuCtxPushCurrent_v2>20ms,"
			       "cuCtxCreate_v2:20-30ms",
	       1);
	driver_start("a");
	CHECK_EQ(cu.cuMemAlloc_v2(&p[0], 2 * MIB), 0);
	CHECK_EQ(cu.cuMemAlloc_v2(&p[1], 2 * MIB), 999);
	CHECK_EQ(cu.cuMemAlloc_v2(&p[1], 2 * MIB), 0);
	CHECK_EQ(cu.cuMemAlloc_v2(&p[2], 2 * MIB), 2);
	CHECK_EQ(cu.cuMemAlloc_v2(&p[2], 2 * MIB), 2);
	CHECK_EQ(cu.cuMemAlloc_v2(&p[2], 2 * MIB), 0);
	CHECK_EQ(truth_held(NULL, 0, "a"), 6 * MIB);
	start = now_ms();
	CHECK_EQ(cu.cuMemFree_v2(p[0]), 700);
	CHECK_GE(now_ms() - start, 20);
	CHECK_EQ(truth_held(NULL, 0, "a"), 6 * MIB);
	CHECK_EQ(cu.cuMemFree_v2(p[0]), 0);
	CHECK_EQ(truth_held(NULL, 0, "a"), 4 * MIB);
	for (i = 0; i < 3; i++)
		CHECK_EQ(cu.cuCtxSynchronize(), 719);
	start = now_ms();
	CHECK_EQ(cu.cuCtxCreate_v2(&c, 0, 0), 0);
	CHECK_GE(now_ms() - start, 20);
	CHECK_EQ(cu.cuCtxCreate_v2(&c, 0, 0), 2);
	CHECK_EQ(cu.cuCtxCreate_v2(&c, 0, 0), 2);
	CHECK_EQ(cu.cuTexRefSetFlags(NULL, 0x1234), CUDA_ERROR_NOT_SUPPORTED);
	start = now_ms();
	CHECK_NE(cu.cuCtxPushCurrent_v2(NULL), 0);
	CHECK_GE(now_ms() - start, 20);
	dprintf(1, "%d %llx\n", (int)getpid(), p[0]);
	return 0;
}

int main(void)
{
	char path[PATH_MAX], line[512], name[64];
	int allocs = 0, frees = 0, stub = 0, lines = 0;
	unsigned long long asked = 0;
	struct client c;
	FILE *trace;

	one_card("24G");
	snprintf(path, sizeof(path), "%s/trace", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	unlink(path);
	setenv("SIMGPU_TRACE", path, 1);
	c = client_fork(body, NULL);
	CHECK_EQ(client_wait(&c, DEADLINE_MS), 0);
	trace = fopen(path, "re");
	CHECK(trace);
	while (fgets(line, sizeof(line), trace)) {
		unsigned long long a = 0, b = 0;
		int pid, tid, rc;

		CHECK_GE(sscanf(line, "%d %d %63s", &pid, &tid, name), 3);
		CHECK(strstr(line, " = "));
		rc = atoi(strstr(line, " = ") + 3);
		sscanf(line, "%*d %*d %*s %llx %llx", &a, &b);
		CHECK_EQ(pid, c.pid);
		lines++;
		if (!strcmp(name, "cuMemAlloc_v2")) {
			CHECK_EQ(b, 2 * MIB);
			allocs += rc == 0;
		}
		frees += !strcmp(name, "cuMemFree_v2") && rc == 700;
		if (!strcmp(name, "cuTexRefSetFlags")) {
			asked = b;
			stub += rc == 801;
		}
	}
	fclose(trace);
	CHECK_EQ(allocs, 3);
	CHECK_EQ(frees, 1);
	CHECK_EQ(stub, 1);
	CHECK_EQ(asked, 0x1234);
	CHECK_GE(lines, 17);
	return 0;
}
