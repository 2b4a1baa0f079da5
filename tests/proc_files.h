/*
 * Ledgers made by hand, for tests of files that this release would not make: other strides and
 * counts, other layouts, damage. Owns: the shape of such a file; promises nothing about what the
 * ledger floor makes of it.
 */
#ifndef TESTS_PROC_FILES_H
#define TESTS_PROC_FILES_H

#include "proc_helper.h"

struct shape {
	uint32_t members, member_stride, tenants, tenant_stride, detail_stride, header_bytes;
	uint64_t features;
	uint64_t tail; /* bytes behind all parts */
	uint8_t fill;  /* what lies between the fields that this release knows */
};

/* As this release makes it, but for the counts. */
#define SHAPE_SMALL(m, t) ((struct shape){(m), 128, (t), 256, 256, 4096, 0, 0, 0})

TEST_USED static struct cuquota_header shape_header(const struct shape *s, uint64_t device_bytes)
{
	struct cuquota_header h = {.magic = CUQUOTA_MAGIC,
				   .layout = CUQUOTA_LAYOUT,
				   .header_bytes = s->header_bytes,
				   .member_count = s->members,
				   .member_stride = s->member_stride,
				   .tenant_count = s->tenants,
				   .tenant_stride = s->tenant_stride,
				   .detail_stride = s->detail_stride,
				   .unit = CUQUOTA_UNIT,
				   .features = s->features,
				   .device_bytes = device_bytes,
				   .epoch = 1};

	h.tenant_offset = s->header_bytes;
	h.member_offset = h.tenant_offset + (uint64_t)s->tenants * s->tenant_stride;
	h.member_offset = (h.member_offset + 63) / 64 * 64;
	h.detail_offset = h.member_offset + (uint64_t)s->members * s->member_stride;
	h.file_bytes = h.detail_offset + (uint64_t)s->members * s->detail_stride + s->tail;
	snprintf(h.uuid, sizeof(h.uuid), "%s", world.uuid);
	return h;
}

/* Writes the file with this header, in world.dir, which is made if need be. */
TEST_USED static void shape_write(const struct shape *s, const struct cuquota_header *header)
{
	const size_t bytes = header->file_bytes;
	char *image;
	int file;

	mkdir(world.dir, 0777);
	CHECK_SYS(chmod(world.dir, 01777));
	image = malloc(bytes);
	CHECK(image);
	memset(image, s->fill, bytes);
	memcpy(image, header, sizeof(*header));
	for (uint32_t i = 0; i < s->tenants; i++)
		memset(image + header->tenant_offset + (uint64_t)i * s->tenant_stride, 0,
		       sizeof(struct cuquota_tenant));
	for (uint32_t i = 0; i < s->members; i++) {
		memset(image + header->member_offset + (uint64_t)i * s->member_stride, 0,
		       sizeof(struct cuquota_slot));
		memset(image + header->detail_offset + (uint64_t)i * s->detail_stride, 0,
		       sizeof(struct cuquota_detail));
	}
	unlink(ledger_path());
	file = open(ledger_path(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	CHECK_SYS(file);
	CHECK_SYS(fchmod(file, 0666));
	CHECK_EQ(write(file, image, bytes), (ssize_t)bytes);
	close(file);
	free(image);
}

TEST_USED static void ledger_make(const struct shape *s)
{
	const struct cuquota_header h = shape_header(s, world.device_bytes);

	shape_write(s, &h);
}

#endif
