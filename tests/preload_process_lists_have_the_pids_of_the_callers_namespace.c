/*
 * report: WN-08
 * Members of one tenant in PID namespaces of their own, both PID 1 there, and one outside. Each
 * finds itself under getpid(), whether it had joined or only uses NVML, and nobody under a number
 * that means somebody else: one in a namespace within the caller's is listed by the number that it
 * has here, one in a namespace beside or above is left out.
 */
#include "equal_pid.h"
#include "nvml_lists.h"

#include <sys/mount.h>

static unsigned long more;

/* Goes line by line: "look" prints the list. */
static int holder(void)
{
	struct listed listed;
	nvmlDevice_t device;
	char line[16];
	CUdeviceptr p;

	context_now(0);
	CHECK_EQ(CU(cuMemAlloc_v2)(&p, 64ull << 20), CUDA_SUCCESS);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		list_read(LIST_V3, device, &listed);
		for (unsigned i = 0; i < listed.count; i++)
			printf("%u ", listed.row[i].pid);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}

/* A process of the client's that becomes PID 1 of a new namespace, with a /proc of its own if
 * asked for. */
static int inside(void *arg)
{
	const bool own_proc = arg;
	const pid_t child = clone_as_first(more | CLONE_NEWNS);
	int status;

	CHECK_SYS(child);
	if (!child) {
		const char *const argv[] = {"/proc/self/exe", "holder", NULL};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK_EQ(getpid(), 1);
		if (own_proc) {
			CHECK_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
			CHECK_SYS(mount("proc", "/proc", "proc", 0, NULL));
		}
		putenv(strdup(preload_of("libcuquota.so")));
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	/* The other clients' pipes too: who reads from one waits for its end. */
	for (int file = 0; file < 64; file++)
		close(file);
	CHECK_SYS(waitpid(child, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The child of `parent`, as it is called here. */
static int child_of(pid_t parent)
{
	char path[64], line[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	file = fopen(path, "r");
	if (!file)
		SKIP("the kernel does not tell children in /proc");
	CHECK(fgets(line, sizeof(line), file));
	fclose(file);
	return atoi(line);
}

static void lists(const struct client *c, int one, int two, int three)
{
	char text[256];
	const int want[] = {one, two, three};
	unsigned found = 0, wanted = 0;

	client_say(c, "look");
	snprintf(text, sizeof(text), " %s", client_line(c, DEADLINE_MS));
	for (int i = 0; i < 3; i++) {
		char number[16];

		snprintf(number, sizeof(number), " %d ", want[i]);
		wanted += want[i] != 0;
		if (want[i] && !strstr(text, number))
			FAIL("no %d in \"%s\"", want[i], text);
	}
	for (const char *at = text + 1; (at = strchr(at, ' ')); at++)
		found++;
	CHECK_EQ(found, wanted);
}

int main(int argc, char **argv)
{
	const char *const self[] = {"/proc/self/exe", "holder", NULL};
	struct client outside, one, two;

	if (argc > 1)
		return holder();
	if (geteuid())
		more = CLONE_NEWUSER;
	outside.pid = clone_as_first(more);
	if (outside.pid < 0)
		SKIP("neither root nor user namespaces");
	if (!outside.pid)
		_exit(0);
	waitpid(outside.pid, NULL, 0);
	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("CUQUOTA_TENANT", "t", 1);
	setenv("CUQUOTA_MEMORY_LIMIT", "8G", 1);
	outside = client_capped(self, NULL);
	CHECK_EQ(atoi(client_line(&outside, DEADLINE_MS)), (int)outside.pid);
	one = client_fork(inside, NULL);
	CLIENT_SAYS(&one, "1");
	two = client_fork(inside, &two);
	CLIENT_SAYS(&two, "1");
	lists(&outside, outside.pid, child_of(one.pid), child_of(two.pid));
	lists(&one, 1, 0, 0);
	lists(&two, 1, 0, 0);
	CHECK_EQ(client_wait(&one, DEADLINE_MS), 0);
	lists(&outside, outside.pid, child_of(two.pid), 0);
	CHECK_EQ(client_wait(&two, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&outside, DEADLINE_MS), 0);
	return 0;
}
