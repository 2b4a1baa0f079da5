/*
 * The world of the ledger's fuzz target: a ledger file that is written as an input says, a clock
 * that only our calls move, and guards around what is mapped. The library's calls of these names
 * come here by the linker's --wrap.
 *
 * Promises: nothing depends on real time, so an input does the same each time; an operation that
 * would wait for ever fails at once; an access beyond a mapped file ends in a signal.
 */
#ifndef TESTS_FUZZ_PROC_WORLD_H
#define TESTS_FUZZ_PROC_WORLD_H

#include "virtual_time.h"

#include "base/log.h"
#include "base/point.h"
#include "ledger/account.h"
#include "ledger/glance.h"

#include <sys/mman.h>

UNGUIDED

#define UUID "GPU-7e570000-0000-4000-8000-000000000001"
#define DEVICE_BYTES (UINT64_C(1) << 32)

/* ---- what is mapped: with nothing around it, and known, since a place that was lost keeps its
 * page ---- */

#define MAPPED 64u
#define GUARD (UINT64_C(1) << 20)

static struct {
	char *at;
	size_t bytes;
} mapped[MAPPED];

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	const size_t whole = (bytes + 4095) & ~(size_t)4095;
	char *const room =
		__real_mmap(NULL, whole + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned i = 0;

	CHECK(room != MAP_FAILED);
	at = __real_mmap(room + GUARD, bytes, protection, flags | MAP_FIXED, file, offset);
	if (at == MAP_FAILED) {
		__real_munmap(room, whole + 2 * GUARD);
		return at;
	}
	while (i < MAPPED && mapped[i].at)
		i++;
	CHECK(i < MAPPED);
	mapped[i].at = at;
	mapped[i].bytes = whole;
	return at;
}

int __wrap_munmap(void *at, size_t bytes)
{
	for (unsigned i = 0; i < MAPPED; i++)
		if (mapped[i].at && mapped[i].at == at) {
			mapped[i].at = NULL;
			return __real_munmap((char *)at - GUARD, mapped[i].bytes + 2 * GUARD);
		}
	FAIL("%p is unmapped, but is not mapped", at);
}

static void unmap_rest(void)
{
	for (unsigned i = 0; i < MAPPED; i++)
		if (mapped[i].at)
			__wrap_munmap(mapped[i].at, mapped[i].bytes);
}

/* ---- the file ---- */

static char world_dir[200];
static struct {
	struct cuquota_header header; /* its own, good one */
	uint64_t bytes;
	int file; /* -1: not there, or made by the library */
} world = {.file = -1};

static const char *world_path(const char *suffix)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/" UUID ".%s", world_dir, suffix);
	return path;
}

/* members, tenants, the strides of slot, record and detail, the header's bytes, bytes behind all,
 * features */
static const uint32_t shapes[][8] = {
	{70, 5, 128, 272, 256, 4096, 0, CUQUOTA_MAPS},
	{3, 2, 128, 256, 224, 448, 4096, 0},
	{130, 300, 128, 280, 256, 4096, 0, CUQUOTA_MAPS},
	{1, 1, 4096, 4096, 4096, 8192, 1, ~0u},
	{64, 4, 136, 264, 232, 512, 0, CUQUOTA_MAPS},
	{70, 5, 128, 256, 256, 4096, 0, 0},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static void world_close(void)
{
	if (world.file >= 0)
		close(world.file);
	world.file = -1;
}

/* A good file of this shape without anybody in it; beyond the shapes none, so that the library
 * makes one. */
static void world_make(uint64_t shape)
{
	struct cuquota_header *const h = &world.header;
	const uint32_t *const s = shapes[shape % (SHAPES + 1) % SHAPES];

	world_close();
	unlink(world_path("ledger"));
	unlink(world_path("settle"));
	for (unsigned i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "life.%u", i);
		unlink(world_path(name));
	}
	if (shape % (SHAPES + 1) == SHAPES)
		return;
	*h = (struct cuquota_header){.magic = CUQUOTA_MAGIC,
				     .layout = CUQUOTA_LAYOUT,
				     .header_bytes = s[5],
				     .member_count = s[0],
				     .member_stride = s[2],
				     .tenant_count = s[1],
				     .tenant_stride = s[3],
				     .tenant_offset = s[5],
				     .detail_stride = s[4],
				     .unit = CUQUOTA_UNIT,
				     .features = s[7],
				     .device_bytes = DEVICE_BYTES,
				     .epoch = 1,
				     .uuid = UUID};
	h->member_offset = h->tenant_offset + (uint64_t)h->tenant_count * h->tenant_stride;
	h->detail_offset = h->member_offset + (uint64_t)h->member_count * h->member_stride;
	h->file_bytes = h->detail_offset + (uint64_t)h->member_count * h->detail_stride;
	world.bytes = h->file_bytes + s[6];
	world.file = open(world_path("ledger"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	CHECK_SYS(world.file);
	CHECK_SYS(fchmod(world.file, 0666));
	CHECK_SYS(ftruncate(world.file, (off_t)world.bytes));
	CHECK_EQ(pwrite(world.file, h, sizeof(*h), 0), (ssize_t)sizeof(*h));
}

/* The file that is there, for patches: the library may have made it. */
static bool world_has_file(void)
{
	struct stat info;

	if (world.file >= 0)
		return true;
	world.file = open(world_path("ledger"), O_RDWR | O_CLOEXEC);
	if (world.file < 0)
		return false;
	CHECK_EQ(pread(world.file, &world.header, sizeof(world.header), 0),
		 (ssize_t)sizeof(world.header));
	CHECK_SYS(fstat(world.file, &info));
	world.bytes = (uint64_t)info.st_size;
	return true;
}

/* ---- patches, some of them at a point that a member reaches later ---- */

struct patch {
	uint64_t at, value;
	unsigned width;
	unsigned points; /* until it is made */
};
#define PATCHES 32u
static struct patch patches[PATCHES];
static unsigned patches_waiting;
static bool scribbled; /* the file holds what no member wrote */

static void patch_make(const struct patch *patch)
{
	scribbled = true;
	if (world_has_file() && patch->at + patch->width <= world.bytes)
		CHECK_EQ(pwrite(world.file, &patch->value, patch->width, (off_t)patch->at),
			 (ssize_t)patch->width);
}

/* At points that debug builds have: another's write comes between two steps. */
void point_reach(const char *name)
{
	const int kept = errno;

	for (unsigned i = 0; i < patches_waiting; i++) {
		if (patches[i].points && !--patches[i].points)
			patch_make(&patches[i]);
	}
	errno = kept;
}

static bool patches_pending(void)
{
	for (unsigned i = 0; i < patches_waiting; i++)
		if (patches[i].points)
			return true;
	return false;
}

static void patch_add(const struct patch *patch)
{
	if (!patch->points)
		patch_make(patch);
	else if (patches_waiting < PATCHES)
		patches[patches_waiting++] = *patch;
}

struct field {
	uint16_t offset, width;
};

/* Tables that are read by their places. */
/* clang-format off */
#define IN(type, f) {__builtin_offsetof(struct type, f), sizeof(((struct type *)0)->f)}
#define H(f) IN(cuquota_header, f)
static const struct field header_fields[] = {
	{0, 8}, H(layout), H(header_bytes), H(file_bytes),
	H(member_count), H(member_stride), H(member_offset), H(tenant_count), H(tenant_stride),
	H(tenant_offset), H(detail_stride), H(unit), H(detail_offset), H(features), {80, 8},
	H(device_bytes), {136, 8}, H(epoch), H(members_high), H(requests), H(tenants_high),
	H(swept_ns), H(swept_done_ns), H(sweep_cost_ns), H(forgotten_ns),
	H(context_units), H(context_driver), H(small_returns),
};
#define T(f) IN(cuquota_tenant, f)
static const struct field tenant_fields[] = {
	T(state), T(flags), T(limit), T(request), T(keep_ns), T(left_ns), {64, 8}, {184, 8},
	{256, 8}, {264, 8}, /* the map of its slots */
};
#define S(f) IN(cuquota_slot, f)
static const struct field slot_fields[] = {
	S(word), S(pending), S(state), S(gen), S(tenant), {0, 4}, {4, 4},
};
#define D(f) IN(cuquota_detail, f)
static const struct field detail_fields[] = {
	D(pid), D(peak), D(pid_namespace), D(joined_ns), {24, 8}, {32, 8}, {40, 4}, {68, 4},
	D(refused_limit), D(over),
};
/* clang-format on */

static void patch_field(uint64_t base, const struct field *fields, size_t count, uint64_t which,
			uint64_t value, unsigned points)
{
	const struct field *const field = &fields[which % count];

	patch_add(&(struct patch){base + field->offset, value, field->width, points});
}
#define FIELDS(table) table, sizeof(table) / sizeof(*(table))

GUIDED

#endif
