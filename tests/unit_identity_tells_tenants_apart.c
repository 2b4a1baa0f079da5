/*
 * The tenant's name: the container's id from mountinfo, then from cgroup, then the cgroup's inode
 * where the PID namespace is not the host's, else the user. Files as engines write them.
 */
#include "helper.h"
#include "base/identity.h"

#include <sys/stat.h>

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define OVERLAY \
	"22 1 0:40 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/" ID_B "/diff\n"

static char folder[PATH_MAX];

static const char *write_file(const char *name, const char *text)
{
	static char path[4][PATH_MAX + 32];
	static unsigned turn;
	char *const at = path[turn++ % 4];
	FILE *file;

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	file = fopen(at, "w");
	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
	return at;
}

static void expect(const char *mountinfo, const char *cgroup, const char *namespace,
		   const char *want, bool container)
{
	const struct identity_source source = {
		.mountinfo = write_file("mountinfo", mountinfo),
		.cgroup = write_file("cgroup", cgroup),
		.pid_namespace = namespace,
		.cgroup_mount = folder,
		.any_filesystem = true,
	};
	char name[IDENTITY_NAME];

	errno = 33;
	CHECK_EQ(identity_derive(&source, name), container);
	CHECK_EQ(errno, 33);
	CHECK_STR(name, want);
}

int main(void)
{
	const char *const tmp = getenv("TMPDIR");
	char uid[64], inode[64], other[PATH_MAX + 32], long_line[9000], child[PATH_MAX + 32];
	struct stat info;

	snprintf(folder, sizeof(folder), "%s/identity.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	/* Any file that exists has an inode that is not the initial PID namespace's. */
	snprintf(other, sizeof(other), "%s", write_file("other", ""));
	snprintf(uid, sizeof(uid), "uid-%u", (unsigned)geteuid());

	/* Docker, podman; with the cgroup hidden. */
	expect(OVERLAY "30 22 8:1 /var/lib/docker/containers/" ID_A
		       "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n",
	       "0::/\n", other, ID_A, true);
	expect("30 22 8:1 /var/lib/containers/storage/overlay-containers/" ID_A
	       "/userdata/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n",
	       "0::/\n", other, ID_A, true);
	/* mountinfo comes first; the root file system's layers and other
	 * mount points do not count. */
	expect("30 22 8:1 /var/lib/docker/containers/" ID_A
	       "/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n",
	       "0::/docker/" ID_B "\n", other, ID_A, true);
	expect(OVERLAY "31 1 0:50 / /var/lib/docker/containers/" ID_A
		       "/mounts/shm rw - tmpfs shm rw\n",
	       "0::/user.slice\n", "/proc/self/ns/none", uid, false);
	/* A pod's sandbox is shared by its containers: the cgroup tells them apart. */
	expect("30 22 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" ID_A
	       "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n",
	       "0::/kubepods.slice/cri-containerd-" ID_B ".scope\n", other, ID_B, true);
	/* cgroup: v1 table, systemd scope, container in a container. */
	expect("", "12:memory:/docker/" ID_A "\n0::/\n", other, ID_A, true);
	expect("", "0::/system.slice/docker-" ID_A ".scope\n", other, ID_A, true);
	expect("", "0::/docker/" ID_B "/docker/" ID_A "\n", other, ID_A, true);
	/* 63 and 65 digits are no id. */
	expect("", "0::/docker/0" ID_A "\n1:x:/" ID_A "0\n", "/proc/self/ns/none", uid, false);
	/* Longer lines than the buffer, and no newline at the end. */
	memset(long_line, 'x', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	strcpy(long_line + 8000, "\n0::/docker/" ID_A);
	expect("", long_line, other, ID_A, true);

	/* No id, but another PID namespace: the inode of the cgroup as it is seen here. */
	CHECK_SYS(stat(folder, &info));
	snprintf(inode, sizeof(inode), "cgroup-%llu", (unsigned long long)info.st_ino);
	expect("", "0::/\n", other, inode, true);
	expect("", "0::/not/visible/here\n", other, inode, true);
	snprintf(child, sizeof(child), "%s/memory", folder);
	CHECK_SYS(mkdir(child, 0700));
	CHECK_SYS(stat(child, &info));
	snprintf(inode, sizeof(inode), "cgroup-%llu", (unsigned long long)info.st_ino);
	expect("", "5:cpu,cpuacct:/\n4:memory:/\n", other, inode, true);
	/* The host's own namespace, or nothing to be told: the user. */
	expect("", "0::/\n", "/proc/self/ns/none", uid, false);
	expect("", "", other, uid, false);

	rmdir(child);
	snprintf(child, sizeof(child), "rm -rf '%s'", folder);
	return system(child) != 0;
}
