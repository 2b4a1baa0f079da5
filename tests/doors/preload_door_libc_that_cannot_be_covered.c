/* Where the C library's symbol table may not be rewritten, since a system-call filter forbids to
 * make pages writable, dlsym and its fellows taken out of it by dlsym are the front ends still. */
#include "doors/door.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void *(*libc_dlsym)(void *, const char *);
static void *handle;

static void *find(const char *symbol)
{
	return libc_dlsym(handle, symbol);
}

/* From here on mprotect grants no writing. */
static void forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void client(void)
{
	static const char *const doors[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
	void *libc, *(*libc_dlopen)(const char *, int);

	forbid();
	libc = opened("libc.so.6", RTLD_NOW);
	for (int i = 0; i < 4; i++) {
		void *const found = dlsym(libc, doors[i]);

		if (!found)
			SKIP("this libc keeps dlsym in libdl");
		CHECK(is_hook(found));
		CHECK(is_hook(dlsym(RTLD_DEFAULT, doors[i])));
		CHECK(is_hook(dlsym(RTLD_NEXT, doors[i])));
	}
	*(void **)&libc_dlsym = dlsym(libc, "dlsym");
	*(void **)&libc_dlopen = libc_dlsym(libc, "dlopen");
	handle = libc_dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(handle != NULL);
	sees_the_cap(find);
}

DOOR_TEST(client)
