/*
 * Creating, checking and mapping a ledger. See segment.h.
 */
#include "ledger/segment.h"
#include "base/point.h"
#include "ledger/folder.h"
#include "ledger/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t segment_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t segment_coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void read_boot_id(uint8_t id[16])
{
	char text[64] = "";
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	int digits = 0;

	memset(id, 0, 16);
	if (file < 0)
		return;
	if (read(file, text, sizeof(text) - 1) > 0) {
		for (const char *c = text; *c && digits < 32; c++) {
			int value = *c >= '0' && *c <= '9'   ? *c - '0'
				    : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
							     : -1;

			if (value < 0)
				continue;
			id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
			digits++;
		}
	}
	close(file);
}

static void fill(struct cuquota_header *header, const char *uuid, uint64_t device_bytes)
{
	memcpy(header->magic, CUQUOTA_MAGIC, sizeof(header->magic));
	header->layout = CUQUOTA_LAYOUT;
	header->header_bytes = CUQUOTA_HEADER_BYTES;
	header->file_bytes = CUQUOTA_FILE_BYTES;
	header->member_count = CUQUOTA_MEMBERS;
	header->member_stride = sizeof(struct cuquota_slot);
	header->member_offset = CUQUOTA_MEMBER_OFFSET;
	header->tenant_count = CUQUOTA_TENANTS;
	header->tenant_stride = CUQUOTA_TENANT_STRIDE;
	header->tenant_offset = CUQUOTA_TENANT_OFFSET;
	header->detail_stride = CUQUOTA_DETAIL_STRIDE;
	header->detail_offset = CUQUOTA_DETAIL_OFFSET;
	header->unit = CUQUOTA_UNIT;
	header->features = CUQUOTA_MAPS;
	snprintf(header->uuid, sizeof(header->uuid), "%s", uuid);
	header->device_bytes = device_bytes;
	read_boot_id(header->boot_id);
	/* Never 0, which is the epoch of a member that has not grown yet. */
	header->epoch = 1;
}

bool segment_is_of_this_boot(const struct segment *segment)
{
	static const uint8_t unknown[16];
	uint8_t id[16];

	read_boot_id(id);
	/* Without /proc nothing is known, and the file is believed. */
	return !memcmp(id, unknown, sizeof(id)) ||
	       !memcmp(segment->header->boot_id, id, sizeof(id));
}

void segment_note_boot(const struct segment *segment)
{
	read_boot_id(segment->header->boot_id);
}

/*
 * Make the file nameless and give it its name when it is whole; a loser of a race finds the
 * winner's. Without O_TMPFILE or /proc (`named`) it is made under a name of its own first, which a
 * kill at this point leaves behind (empty of use and never read).
 */
static int create_as(bool named, int folder, const char *name, const char *uuid,
		     uint64_t device_bytes)
{
	char made[SEGMENT_PATH], link_from[64];
	struct cuquota_header *header;
	int file, rc;

	if (named) {
		uint64_t random = 0;

		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
			random = segment_now_ns();
		snprintf(made, sizeof(made), ".new-%016llx", (unsigned long long)random);
		file = openat(folder, made, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW,
			      0600);
	} else {
		file = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	if (file < 0)
		return -errno;
	POINT("segment.made");
	rc = -posix_fallocate(file, 0, CUQUOTA_FILE_BYTES);
	if (!rc && fchmod(file, 0666))
		rc = -errno;
	if (!rc) {
		header = mmap(NULL, CUQUOTA_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
			      0);
		if (header == MAP_FAILED) {
			rc = -errno;
		} else {
			fill(header, uuid, device_bytes);
			munmap(header, CUQUOTA_HEADER_BYTES);
		}
	}
	POINT("segment.filled");
	if (!rc && named) {
		rc = linkat(folder, made, folder, name, 0) ? -errno : 0;
	} else if (!rc) {
		snprintf(link_from, sizeof(link_from), "/proc/self/fd/%d", file);
		rc = linkat(AT_FDCWD, link_from, folder, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
	}
	POINT("segment.linked");
	if (named)
		unlinkat(folder, made, 0);
	close(file);
	return rc == -EEXIST ? 0 : rc;
}

static int create(const struct segment *segment, int folder, const char *name, const char *uuid,
		  uint64_t device_bytes, char why[SEGMENT_WHY])
{
	int rc = create_as(false, folder, name, uuid, device_bytes);

	if (rc && rc != -ENOSPC)
		rc = create_as(true, folder, name, uuid, device_bytes);
	if (rc == -ENOSPC)
		return why_path(why, "create", segment->path, ".ledger", rc,
				"make room for 1.7 MiB or ");
	return rc ? why_path(why, "create", segment->path, ".ledger", rc,
			     "let this user write there or ")
		  : 0;
}

/* Does `count` times `stride` from `offset` lie behind the header, with room for what this release
 * reads of each? */
static bool lies_within(uint64_t offset, uint32_t count, uint32_t stride, size_t least,
			uint64_t bytes)
{
	return count && count <= 1u << 20 && stride >= least && stride <= 1u << 16 &&
	       stride % 8 == 0 && offset % 8 == 0 && offset >= sizeof(struct cuquota_header) &&
	       offset <= bytes && (uint64_t)count * stride <= bytes - offset;
}

/* Judges the copies that every access will use, not the file, which another may scribble
 * meanwhile. */
static const char *misfit(const struct segment *segment, const struct cuquota_header *header,
			  const char *uuid)
{
	uint64_t bytes = segment->bytes;

	if (memcmp(header->magic, CUQUOTA_MAGIC, sizeof(header->magic)))
		return "it is not a ledger";
	if (header->layout != CUQUOTA_LAYOUT)
		return "it has a layout of another release";
	if (header->unit != CUQUOTA_UNIT)
		return "it counts in another unit";
	if (header->file_bytes > bytes)
		return "it is shorter than it says";
	if (header->header_bytes < sizeof(*header) || header->header_bytes > bytes ||
	    !lies_within(segment->tenant_offset, segment->tenant_count, segment->tenant_stride,
			 sizeof(struct cuquota_tenant) + segment->map_words * sizeof(uint64_t),
			 bytes) ||
	    !lies_within(segment->member_offset, segment->member_count, segment->member_stride,
			 sizeof(struct cuquota_slot), bytes) ||
	    !lies_within(segment->detail_offset, segment->member_count, segment->detail_stride,
			 sizeof(struct cuquota_detail), bytes))
		return "its parts do not fit into it";
	if (strncmp(header->uuid, uuid, sizeof(header->uuid)))
		return "it belongs to another device";
	return NULL;
}

static int map(struct segment *segment, int file, const char *uuid, char why[SEGMENT_WHY])
{
	struct cuquota_header *header;
	const char *reason;
	struct stat stat;

	if (fstat(file, &stat))
		return why_path(why, "look at", segment->path, ".ledger", -errno, "");
	/* More than this release's own size at a multiple, never a device or a fifo somebody put
	 * there. */
	if (!S_ISREG(stat.st_mode) || stat.st_size < (off_t)sizeof(*header) ||
	    stat.st_size > 1 << 30) {
		snprintf(why, SEGMENT_WHY,
			 "cannot use %s.ledger: %s; stop its users and remove it, or "
			 "set CUQUOTA_DIR",
			 segment->path,
			 S_ISREG(stat.st_mode) ? "it is shorter than a ledger, or far too long"
					       : "it is not a regular file");
		return -EPROTO;
	}
	segment->bytes = (size_t)stat.st_size;
	header = mmap(NULL, segment->bytes, segment->writable ? PROT_READ | PROT_WRITE : PROT_READ,
		      MAP_SHARED, file, 0);
	if (header == MAP_FAILED)
		return why_path(why, "map", segment->path, ".ledger", -errno, "");
	segment->member_count = header->member_count;
	segment->member_stride = header->member_stride;
	segment->member_offset = header->member_offset;
	segment->tenant_count = header->tenant_count;
	segment->tenant_stride = header->tenant_stride;
	segment->tenant_offset = header->tenant_offset;
	segment->detail_stride = header->detail_stride;
	segment->detail_offset = header->detail_offset;
	segment->map_words = header->features & CUQUOTA_MAPS
				     ? CUQUOTA_MAP_WORDS((uint64_t)segment->member_count)
				     : 0;
	reason = misfit(segment, header, uuid);
	if (reason) {
		munmap(header, segment->bytes);
		snprintf(why, SEGMENT_WHY,
			 "cannot use %s.ledger: %s; stop its users and remove it, or set "
			 "CUQUOTA_DIR to another folder",
			 segment->path, reason);
		return -EPROTO;
	}
	segment->device = (uint64_t)stat.st_dev;
	segment->inode = (uint64_t)stat.st_ino;
	segment->header = header;
	return 0;
}

static bool is_empty(const struct segment *segment)
{
	for (struct segment_walk walk = segment_walk(segment, SEGMENT_ALL); segment_step(&walk);)
		if (__atomic_load_n(&walk.slot->state, __ATOMIC_SEQ_CST) != CUQUOTA_FREE)
			return false;
	return true;
}

/* Another driver, or another mode of the card, may leave a little more or less of it. */
static void note_size(const struct segment *segment, uint64_t device_bytes)
{
	uint64_t *const noted = &segment->header->device_bytes;
	const uint64_t before = __atomic_load_n(noted, __ATOMIC_SEQ_CST);

	if (device_bytes && (device_bytes < before || (device_bytes > before && is_empty(segment))))
		__atomic_store_n(noted, device_bytes, __ATOMIC_SEQ_CST);
}

int segment_open(struct segment *segment, const char *dir, const char *uuid, uint64_t device_bytes,
		 enum segment_access access, char why[SEGMENT_WHY])
{
	char name[CUQUOTA_UUID_TEXT + 16];
	int folder, file, rc, length;

	memset(segment, 0, sizeof(*segment));
	why[0] = '\0';
	length = snprintf(segment->path, sizeof(segment->path), "%s/%s", dir, uuid);
	if (length < 0 || (size_t)length >= sizeof(segment->path) - 16 ||
	    strlen(uuid) >= CUQUOTA_UUID_TEXT || strchr(uuid, '/')) {
		snprintf(why, SEGMENT_WHY,
			 "the ledger folder's name is too long: %.100s; "
			 "set CUQUOTA_DIR to a shorter one",
			 dir);
		return -ENAMETOOLONG;
	}
	segment->writable = access == SEGMENT_MEMBER;
	folder = folder_open(dir, access, why);
	if (folder < 0)
		return folder;
	rc = folder_suits(folder, dir, why);
	snprintf(name, sizeof(name), "%s.ledger", uuid);
	/* Twice: the file may be unlinked between its making and its opening. Without O_CREAT,
	 * which a sticky folder refuses for another user's file (fs.protected_regular). */
	for (int attempt = 0; !rc && !segment->header && attempt < 3; attempt++) {
		file = openat(folder, name,
			      (segment->writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW |
				      O_NONBLOCK);
		if (file >= 0) {
			rc = map(segment, file, uuid, why);
			if (!rc && segment->writable)
				note_size(segment, device_bytes);
			close(file);
		} else if (errno == ENOENT && segment->writable) {
			rc = create(segment, folder, name, uuid, device_bytes, why);
		} else {
			rc = why_path(why, "open", segment->path, ".ledger", -errno,
				      "let this user use it or ");
		}
	}
	close(folder);
	if (!rc && !segment->header) {
		rc = why_path(why, "keep", segment->path, ".ledger", -EAGAIN,
			      "find out who removes it as it is made, or ");
	}
	return rc;
}

void segment_close(struct segment *segment)
{
	if (segment->header)
		munmap(segment->header, segment->bytes);
	segment->header = NULL;
}

bool segment_is_linked(const struct segment *segment)
{
	char path[SEGMENT_PATH + 16];
	struct stat stat_now;

	snprintf(path, sizeof(path), "%s.ledger", segment->path);
	if (stat(path, &stat_now))
		return errno != ENOENT && errno != ENOTDIR; /* a doubt is no proof of a loss */
	return (uint64_t)stat_now.st_dev == segment->device &&
	       (uint64_t)stat_now.st_ino == segment->inode;
}
