/*
 * The tenant's name where none is set: the container, or outside containers the user.
 *
 * Promises: no allocation; bounded reads of /proc; never the host name, a PID or a
 * namespace's inode, which are reused or forged (six containers in a row were seen with
 * the same namespace inodes).
 */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

#include <stdbool.h>

#define IDENTITY_NAME 128

/* Where to look. */
struct identity_source {
	const char *mountinfo;	   /* /proc/self/mountinfo */
	const char *cgroup;	   /* /proc/self/cgroup */
	const char *pid_namespace; /* /proc/self/ns/pid */
	const char *cgroup_mount;  /* /sys/fs/cgroup */
	bool any_filesystem;	   /* tests: the cgroup mount need not be a cgroup file system */
};

extern const struct identity_source identity_proc;

/*
 * In this order: the 64-hex id of a container from mountinfo, then from cgroup; if the PID
 * namespace is not the host's, "cgroup-<inode>"; else, or where no cgroup can be told,
 * "uid-<effective uid>". Returns whether this is a container by any of the first three.
 */
bool identity_derive(const struct identity_source *source, char name[IDENTITY_NAME]);

/* Is this process in a PID namespace that is not the initial one, or has it a container's id? */
bool identity_in_container(const struct identity_source *source);

#endif
