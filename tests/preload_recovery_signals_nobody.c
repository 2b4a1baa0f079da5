/*
 * report: SS-03
 * What a dead member held comes back without any signal but 0 being sent to anybody, and living
 * members keep theirs, one in another PID namespace with the same PID included.
 */
#include "client.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

#define NUMBER offsetof(struct seccomp_data, nr)
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
/* A call with the signal in argument n: 0 is allowed, anything else ends
 * the process with SIGSYS. */
#define SIGNALS(call, n)                                                               \
	LOAD(NUMBER), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 3), LOAD(ARG(n)), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),                          \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void forbid_signals(void)
{
	struct sock_filter filter[] = {
		SIGNALS(__NR_kill, 1),
		SIGNALS(__NR_tkill, 1),
		SIGNALS(__NR_tgkill, 2),
		SIGNALS(__NR_rt_sigqueueinfo, 1),
		SIGNALS(__NR_rt_tgsigqueueinfo, 2),
		SIGNALS(__NR_pidfd_send_signal, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		SKIP("the kernel filters no system calls");
}

static int child(bool watched)
{
	char line[64];
	CUdeviceptr p;

	if (watched)
		forbid_signals();
	context_now(0);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (*line == 'f')
			printf("%zu\n", free_now());
		else
			printf("%d\n", CU(cuMemAlloc_v2)(&p, strtoull(line, NULL, 10)));
		fflush(stdout);
	}
	return 0;
}

static int in_namespace(void *arg)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID))
		return 2;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "self", "plain", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int body(void *arg)
{
	setenv("CUQUOTA_TENANT", "t", 1);
	setenv("CUQUOTA_MEMORY_LIMIT", "4G", 1);
	putenv(strdup(preload_of("libcuquota.so")));
	return in_namespace(arg);
}

static void holds(struct client *c, unsigned long long bytes)
{
	CLIENT_SAYS(c, "ready");
	client_say(c, "%llu", bytes);
	CLIENT_SAYS(c, "0");
}

int main(int argc, char **argv)
{
	const char *const env[] = {"CUQUOTA_TENANT=t", "CUQUOTA_MEMORY_LIMIT=4G", NULL};
	const char *const plain[] = {"/proc/self/exe", "plain", NULL};
	const char *const watched[] = {"/proc/self/exe", "watched", NULL};
	struct client living, elsewhere = {0}, dead, watcher;
	unsigned long long used = 512 * MIB;

	setenv("SIMGPU_DEVICES", "24G", 1);
	setenv("SIMGPU_CONTEXT", "64M", 1);
	if (argc > 1)
		return child(!strcmp(argv[1], "watched"));
	living = client_capped(plain, env);
	holds(&living, 512 * MIB);
	if (!geteuid()) {
		elsewhere = client_fork(body, NULL);
		holds(&elsewhere, 256 * MIB);
		used += 256 * MIB;
	}
	watcher = client_capped(watched, env);
	CLIENT_SAYS(&watcher, "ready");
	for (int i = 0; i < 5; i++) {
		dead = client_capped(plain, env);
		holds(&dead, 2 * GIB);
		client_say(&watcher, "%llu", 2 * GIB);
		CLIENT_SAYS(&watcher, "2");
		client_kill(&dead, SIGKILL);
		CHECK_EQ(client_wait(&dead, DEADLINE_MS), 128 + SIGKILL);
		/* Only the dead one's memory makes this possible. */
		client_say(&watcher, "%llu", i < 4 ? 64 * MIB : 2 * GIB);
		CLIENT_SAYS(&watcher, "0");
		used += i < 4 ? 64 * MIB : 2 * GIB;
	}
	/* What the living hold still counts: contexts of 64 MiB with a spare
	 * grain each come on top. */
	client_say(&watcher, "free");
	used += (elsewhere.pid ? 3 : 2) * 66 * MIB;
	CHECK_EQ(strtoull(client_line(&watcher, DEADLINE_MS), NULL, 10), 4 * GIB - used);
	/* First the one that is a fork of this process and so holds the others' pipes. */
	if (elsewhere.pid)
		CHECK_EQ(client_wait(&elsewhere, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&watcher, DEADLINE_MS), 0);
	CHECK_EQ(client_wait(&living, DEADLINE_MS), 0);
	return 0;
}
