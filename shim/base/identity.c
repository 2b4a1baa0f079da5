/*
 * The derived tenant; see identity.h.
 *
 * mountinfo: engines bind a file of the container's own folder over /etc/hostname, /etc/hosts and
 * /etc/resolv.conf, and the root of that mount names the container: .../containers/<64
 * hex>/hostname (Docker), .../overlay-containers/<64 hex>/userdata/hostname (Podman). Only those
 * mounts are looked at: on a host with running containers the table is full of other people's ids.
 * A pod sandbox's id (.../sandboxes/<64 hex>/) is shared by several containers and is passed over.
 */
#include "base/identity.h"
#include "base/parse.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define ID 64
#define INITIAL_PID_NAMESPACE 4026531836u /* PROC_PID_INIT_INO, fixed since Linux 3.8 */
#define CGROUP_V1 0x27e0eb
#define CGROUP_V2 0x63677270
#define MOST_LINES 8192 /* of a table; a line longer than the buffer counts as several */
#define LINE 2048

const struct identity_source identity_proc = {
	.mountinfo = "/proc/self/mountinfo",
	.cgroup = "/proc/self/cgroup",
	.pid_namespace = "/proc/self/ns/pid",
	.cgroup_mount = "/sys/fs/cgroup",
};

struct reader {
	int fd;
	size_t start;
	size_t end;
	unsigned lines;
	char buffer[LINE];
};

static bool reader_open(struct reader *reader, const char *path)
{
	reader->start = reader->end = 0;
	reader->lines = 0;
	reader->fd = open(path, O_RDONLY | O_CLOEXEC);
	return reader->fd >= 0;
}

/* The next line without its newline; a line that is too long comes in pieces. */
static bool reader_line(struct reader *reader, struct span *line)
{
	for (;;) {
		const struct span have = {reader->buffer + reader->start,
					  reader->end - reader->start};
		const char *const newline = span_find(have, '\n');
		ssize_t got;

		if (reader->lines >= MOST_LINES)
			return false;
		if (newline || have.length == LINE) {
			const size_t length = newline ? (size_t)(newline - have.at) : have.length;

			*line = (struct span){have.at, length};
			reader->start += length + (newline ? 1 : 0);
			reader->lines++;
			return true;
		}
		memmove(reader->buffer, have.at, have.length);
		reader->start = 0;
		reader->end = have.length;
		do
			got = read(reader->fd, reader->buffer + reader->end, LINE - reader->end);
		while (got < 0 && errno == EINTR);
		if (got <= 0) {
			*line = (struct span){reader->buffer, reader->end};
			reader->start = reader->end;
			reader->lines = MOST_LINES;
			return line->length > 0;
		}
		reader->end += (size_t)got;
	}
}

/* A run of exactly 64 hexadecimal digits; the last one of the text. */
static const char *find_id(struct span text)
{
	const char *found = NULL;
	size_t run = 0;

	for (size_t i = 0; i <= text.length; i++) {
		if (i < text.length && char_hex(text.at[i]) >= 0) {
			run++;
			continue;
		}
		if (run == ID)
			found = text.at + i - ID;
		run = 0;
	}
	return found;
}

static struct span next_field(struct span *line)
{
	return line->at ? span_split(line, ' ') : (struct span){NULL, 0};
}

static bool ends_with(struct span text, const char *tail)
{
	const size_t length = strlen(tail);

	return text.length >= length && !memcmp(text.at + text.length - length, tail, length);
}

static const char *id_of_mount(struct span line)
{
	struct span root, point;
	const char *id;

	for (unsigned i = 0; i < 3; i++) /* mount id, parent, device */
		next_field(&line);
	root = next_field(&line);
	point = next_field(&line);
	if (!point.at || !(span_is(point, "/etc/hostname") || span_is(point, "/etc/hosts") ||
			   span_is(point, "/etc/resolv.conf")))
		return NULL;
	id = find_id(root);
	if (!id || !ends_with((struct span){root.at, (size_t)(id - root.at)}, "containers/"))
		return NULL;
	return id;
}

static bool copy_id(const char *id, char *name)
{
	if (!id)
		return false;
	memcpy(name, id, ID);
	name[ID] = '\0';
	return true;
}

static bool from_table(const char *path, const char *(*find)(struct span), char *name)
{
	struct reader reader;
	struct span line;
	bool found = false;

	if (!reader_open(&reader, path))
		return false;
	while (!found && reader_line(&reader, &line))
		found = copy_id(find(line), name);
	close(reader.fd);
	return found;
}

static bool is_cgroup(const struct identity_source *source, const char *path)
{
	struct statfs info;

	if (source->any_filesystem)
		return true;
	return !statfs(path, &info) && (info.f_type == CGROUP_V1 || info.f_type == CGROUP_V2);
}

/* The inode of <mount><controller><path>; 0 for none, and for the root of a
 * hierarchy, which is 1. */
static unsigned long long cgroup_inode(const struct identity_source *source, const char *controller,
				       struct span path)
{
	char full[1024];
	struct text text;
	struct stat info;

	text_init(&text, full, sizeof(full));
	text_add(&text, "%s%s%.*s", source->cgroup_mount, controller, (int)path.length, path.at);
	if (text.cut || stat(full, &info) || !is_cgroup(source, full) || info.st_ino <= 1)
		return 0;
	return info.st_ino;
}

/* With a cgroup namespace of its own a container sees itself as "/", at the mount's root; without
 * one the path is that of the host, which may or may not be visible below the mount. */
static bool from_cgroup_inode(const struct identity_source *source, char *name)
{
	unsigned long long inode = 0;
	struct reader reader;
	struct text text;
	struct span line;

	if (!reader_open(&reader, source->cgroup))
		return false;
	while (!inode && reader_line(&reader, &line)) {
		const struct span number = span_split(&line, ':');
		const struct span controllers = line.at ? span_split(&line, ':') : line;
		const char *folder;

		if (!line.at)
			continue;
		if (span_is(number, "0") && !controllers.length)
			folder = "";
		else if (span_is(controllers, "memory"))
			folder = "/memory";
		else
			continue;
		inode = cgroup_inode(source, folder, line);
		if (!inode)
			inode = cgroup_inode(source, folder, (struct span){"", 0});
	}
	close(reader.fd);
	text_init(&text, name, IDENTITY_NAME);
	text_add(&text, "cgroup-%llu", inode);
	return inode != 0;
}

static bool in_other_pid_namespace(const struct identity_source *source)
{
	struct stat info;

	return !stat(source->pid_namespace, &info) && info.st_ino != INITIAL_PID_NAMESPACE;
}

bool identity_derive(const struct identity_source *source, char name[IDENTITY_NAME])
{
	const int saved = errno;
	struct text text;
	bool container;
	int cancel;

	/* a descriptor would be left open */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	container = from_table(source->mountinfo, id_of_mount, name) ||
		    from_table(source->cgroup, find_id, name) ||
		    (in_other_pid_namespace(source) && from_cgroup_inode(source, name));
	if (!container) {
		text_init(&text, name, IDENTITY_NAME);
		text_add(&text, "uid-%u", (unsigned)geteuid());
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return container;
}

bool identity_in_container(const struct identity_source *source)
{
	char name[IDENTITY_NAME];

	return identity_derive(source, name) || in_other_pid_namespace(source);
}
